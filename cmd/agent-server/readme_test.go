package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
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
