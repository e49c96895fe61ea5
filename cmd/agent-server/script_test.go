package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts plays testdata/script: the command as a person or a program uses
// it. After each script no process of it may be left.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			// The same ids in each run, and a mark on every process of the
			// script: TMPDIR is its own, and is passed on to harnesses.
			env.Setenv("AGENT_SERVER_DEMO_SEED", "seed")
			env.Setenv("A1024", strings.Repeat("a", 1024))
			mark := env.Getenv(tempDirEnv)
			env.Defer(func() {
				if left := carrying(mark); len(left) > 0 {
					t.Errorf("%s left processes: %q", env.WorkDir, left)
				}
			})
			s := &stage{env: env}
			env.Values[stageKey{}] = s
			env.Defer(s.clear)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":    onStage((*stage).start),
			"await":    onStage((*stage).await),
			"type":     onStage((*stage).typed),
			"eof":      onStage((*stage).eof),
			"listen":   onStage((*stage).listen),
			"unlisten": onStage((*stage).unlisten),
			"signal":   onStage((*stage).signal),
			"ends":     onStage((*stage).ends),
			"nothing":  onStage((*stage).nothing),
			"alone":    onStage((*stage).alone),
			"serve":    onStage((*stage).serve),
			"served":   onStage((*stage).served),
			"replace":  replace,
		},
	})
}
