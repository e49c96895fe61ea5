package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/reducer"
)

// The body of this example stands in the README.
func Example() {
	ctx := context.Background()
	c, err := client.Spawn(ctx, exec.Command("agent-server", "serve", "--stdio"), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var conv *reducer.Conversation
	for env, err := range c.RunTurn(ctx, protocol.TurnStartParams{
		Input:  protocol.TextInput("tool"),
		Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: "/"},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		conv = reducer.Reduce(conv, env.Event)
	}
	for _, m := range reducer.ConversationMessages(conv) {
		fmt.Println(m.Role, len(m.Parts))
	}
	// Output:
	// user 1
	// assistant 2
	// assistant 1
}

// TestReadmeNetwork: the README's commands on the network, block by block, each in a
// terminal of its own: the question of the third is answered in the second.
func TestReadmeNetwork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil || !canLook {
		t.Skip("the README is written for a shell")
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	home := t.TempDir()
	var terminals []*served
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		s := &served{t: t, dir: t.TempDir()}
		s.start(exec.Command("sh", "-c", "exec 2>&1\n"+strings.NewReplacer("7777", port, "agent-server ", "exec agent-server ").Replace(string(block[1]))), "HOME="+home, "XDG_STATE_HOME=")
		terminals = append(terminals, s)
		s.says(&s.out, []string{`clients show the token in \S+/\.local/state/agent-server/token$`, `waiting for one to speak$`, `choose: `}[len(terminals)-1])
	}
	watch, turn := terminals[1], terminals[2]
	watch.says(&watch.out, `choose: `)
	watch.types("1")
	watch.says(&watch.out, `The demo ran no command`)
	turn.says(&turn.out, `^verified: \d+ events, no violation$`)
	if code := turn.wait(); code != 0 {
		t.Errorf("the turn ended with %d", code)
	}
}

// TestReadmeGo: the README's Go is the example above, to the letter.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func Example() {\n")
	body, _, _ = strings.Cut(body, "\t// Output:")
	var want []string
	for _, line := range strings.Split(strings.TrimRight(body, "\n"), "\n") {
		want = append(want, strings.TrimPrefix(line, "\t"))
	}
	if got := strings.Join(blocks(t, "../../README.md", "go"), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the README has\n%s\nthe example is\n%s", got, strings.Join(want, "\n"))
	}
}
