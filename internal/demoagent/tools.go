package demoagent

import (
	"context"
	"path/filepath"
)

// fileInput is the rawInput of the tools that name a file.
type fileInput struct {
	// Path is absolute.
	Path string `json:"path"`
}

// commandInput is the rawInput of the tools that name a command.
type commandInput struct {
	// Command is a shell's, and is not run.
	Command string `json:"command"`
	// CWD is the session's, absolute.
	CWD string `json:"cwd"`
}

// failure is the rawOutput of a tool that failed.
type failure struct {
	// Error is for people.
	Error string `json:"error"`
	// ExitCode is never 0.
	ExitCode int `json:"exitCode"`
}

// demoFile is the file that the tools talk about. Nothing reads or writes it.
func (t *turn) demoFile() string { return filepath.Join(t.session.cwd, "demo.txt") }

// fileTool is a tool that works on the demo's file.
func (t *turn) fileTool(name, kind, title string, content ...toolContent) toolCall {
	path := t.demoFile()
	return toolCall{
		Title: title, Name: name, Kind: kind, Content: content,
		Locations: []location{{path}}, RawInput: fileInput{path},
	}
}

// commandTool is a tool that runs a command. The command is its title, as with
// most agents, which is all that many clients show.
func (t *turn) commandTool(command string) toolCall {
	return toolCall{
		Title: command, Name: "run_command", Kind: "execute",
		RawInput: commandInput{Command: command, CWD: t.session.cwd},
	}
}

// readTool is the plainest way of a tool: pending, in_progress, completed.
func readTool(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Reading ", "a file."); err != nil {
		return err
	}
	if err := t.openTool(ctx, t.fileTool("read_file", "read", "Read demo.txt")); err != nil {
		return err
	}
	if err := t.runTool(ctx); err != nil {
		return err
	}
	if err := t.completeTool(ctx, "hello from the demo\n"); err != nil {
		return err
	}
	return t.say(ctx, "The demo read no file: ", "the content was made up.")
}

// askTool is a command that needs permission.
func askTool(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Running ", "a command."); err != nil {
		return err
	}
	return t.withPermission(ctx, t.commandTool("echo hello"), "hello\n", "The demo ran no command: the output was made up.")
}

// editTool shows its diff with the first line of the call already, so that who
// is asked can see what is asked.
func editTool(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Editing ", "a file."); err != nil {
		return err
	}
	diff := toolContent{
		Type: "diff", Path: t.demoFile(),
		OldText: new("hello\n"), NewText: new("hello, world\n"),
	}
	call := t.fileTool("edit_file", "edit", "Edit demo.txt", diff)
	return t.withPermission(ctx, call, "edited", "The demo wrote no file: the diff was made up.")
}

// withPermission takes a tool through the question to its end. A refusal fails
// the tool and not the turn.
func (t *turn) withPermission(ctx context.Context, call toolCall, output, closing string) error {
	if err := t.openTool(ctx, call); err != nil {
		return err
	}
	refusal, err := t.permit(ctx)
	if err != nil {
		return err
	}
	if refusal != "" {
		t.endTool("failed", refusal, nil)
		return t.say(ctx, "Not done: ", refusal+".")
	}
	if err := t.runTool(ctx); err != nil {
		return err
	}
	if err := t.completeTool(ctx, output); err != nil {
		return err
	}
	return t.say(ctx, closing)
}

// failTool is a tool that fails by itself, which is no failure of the turn.
func failTool(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Running ", "a command that fails."); err != nil {
		return err
	}
	if err := t.openTool(ctx, t.commandTool("exit 1")); err != nil {
		return err
	}
	if err := t.runTool(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errCancelled
	}
	t.endTool("failed", "exit status 1\n", failure{Error: "exit status 1", ExitCode: 1})
	return t.say(ctx, "The tool failed ", "and the turn went on.")
}
