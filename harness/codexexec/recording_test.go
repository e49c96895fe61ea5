package codexexec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"
)

// recordings of the real Codex lie beside the module where somebody has them; they
// are not part of it.
const recordings = "../../../shared/transcripts/codex"

// recordedEnds are how the turns of the recordings end, and how many notices there
// were before.
var recordedEnds = map[string]string{
	"39a_exec_json_text":            "end_turn",
	"39b_exec_json_tools":           "end_turn",
	"39c_exec_json_patch":           "end_turn",
	"39d_exec_json_reasoning":       "end_turn",
	"39e_exec_json_failed_turn":     "error:context_limit error:context_limit",
	"39f_exec_json_retry":           "error:network end_turn",
	"39g_exec_json_prompt_on_stdin": "end_turn",
	"39h_exec_json_approval_needed": "end_turn",
	"39i_exec_json_resume_last":     "end_turn",
	"39j_exec_json_sigint":          "error:process_exit error:process_exit",
	"39k_exec_json_sigterm":         "error:process_exit error:process_exit",
	"39l_exec_json_fail_command":    "end_turn",
}

// TestRecordingsThroughTheMachine plays every recording through the translator and
// the session machine: what comes out must hold every law of a stream.
func TestRecordingsThroughTheMachine(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "39*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, protocol.RunConfig{})
			s.start()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for row := range strings.Lines(string(text)) {
				var r struct {
					Dir string          `json:"dir"`
					Raw json.RawMessage `json:"raw"`
				}
				if err := json.Unmarshal([]byte(row), &r); err != nil {
					t.Fatal(err)
				}
				line := string(r.Raw)
				if line[0] == '"' {
					_ = json.Unmarshal(r.Raw, &line)
				}
				if r.Dir == "out" {
					s.line(line)
				}
			}
			s.step(session.Exited{Gen: 1, Status: harness.ExitStatus{Code: 1}})
			s.finish()
			if got := strings.Join(s.ends, " "); got != recordedEnds[name] {
				t.Errorf("ended %q, want %q", got, recordedEnds[name])
			}
		})
	}
}

// stage is a session machine around the translator, whose stream is judged.
type stage struct {
	t      *testing.T
	m      *session.Machine
	v      *verify.Verifier
	cfg    protocol.RunConfig
	gen    int
	stdin  string
	events []protocol.Event
	ends   []string
}

func newStage(t *testing.T, cfg protocol.RunConfig) *stage {
	t.Helper()
	cfg.Harness, cfg.Cwd = protocol.HarnessCodexSDK, "/workspace"
	return &stage{
		t: t, m: session.New(session.Options{SessionID: "session", Harness: New(), HashKey: []byte("key")}),
		v: verify.New(verify.Options{}), cfg: cfg,
	}
}

func (s *stage) start() {
	s.step(session.StartTurn{Token: 1, TurnID: "turn", Input: protocol.TextInput("hello"), Config: s.cfg})
}

func (s *stage) line(lines ...string) {
	for _, line := range lines {
		s.step(session.NativeLine{Gen: s.gen, Line: []byte(line)})
	}
}

func (s *stage) step(in session.Input) session.Output {
	out := s.m.Step(1, in)
	for _, e := range out.Events {
		s.events = append(s.events, e.Event)
		for _, v := range s.v.Add(protocol.Envelope{SessionID: "session", Seq: e.Seq, Event: e.Event}) {
			s.t.Errorf("%v", v)
		}
		switch e := e.Event.(type) {
		case *protocol.ErrorEvent:
			s.ends = append(s.ends, "error:"+string(e.Category))
		case *protocol.TurnEnded:
			end := string(e.StopReason)
			if e.Error != nil {
				end += ":" + string(e.Error.Category)
			}
			s.ends = append(s.ends, end)
		}
	}
	if out.Spawn != nil {
		s.gen = out.Spawn.Gen
	}
	s.stdin += string(out.Stdin)
	return out
}

func (s *stage) finish() {
	for _, v := range s.v.Finish() {
		s.t.Errorf("%v", v)
	}
}
