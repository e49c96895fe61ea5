package claudecode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// recordings are where the recordings of the real CLI lie; the test is skipped
// where there are none.
const recordings = "../../../shared/transcripts/claude"

// shortened are recordings in which the recorder cut long texts, so that deltas
// and final text cannot agree.
var shortened = []string{"40_big_write_input", "42_big_text", "45_mcp_sdk_server", "45b_mcp_sdk_server_5mb"}

// TestPlayRecordings plays every recording of the real CLI against the
// translator, as far as a gateway would have driven it so.
func TestPlayRecordings(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &play{t: t, b: newBooks()}
			p.run(readRecording(t, file))
			if p.b.finished != p.b.begun {
				t.Errorf("%d turns begun, %d ended", p.b.begun, p.b.finished)
			}
			for _, fault := range p.b.faults {
				if strings.Contains(fault, "streamed") && slices.Contains(shortened, name) {
					continue
				}
				t.Error(fault)
			}
		})
	}
}

// row is one line of a recording.
type row struct {
	Dir string          `json:"dir"`
	Raw json.RawMessage `json:"raw"`
	// Text is the line where it was no JSON.
	Text string `json:"rawtext"`
}

func readRecording(t *testing.T, file string) []row {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// written is a line of the recording that its driver wrote.
type written struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	ID      string `json:"request_id"`
	Request struct {
		Subtype   string `json:"subtype"`
		ToolUseID string `json:"tool_use_id"`
	} `json:"request"`
	Response struct {
		ID       string `json:"request_id"`
		Response struct {
			Behavior string          `json:"behavior"`
			Input    json.RawMessage `json:"updatedInput"`
			Always   json.RawMessage `json:"updatedPermissions"`
			Message  string          `json:"message"`
		} `json:"response"`
	} `json:"response"`
}

// inputs are the lines of a row that its driver wrote; some wrote two at once.
func (r row) inputs() []written {
	lines := []byte(r.Raw)
	var text string
	if json.Unmarshal(r.Raw, &text) == nil {
		lines = []byte(text)
	}
	var list []written
	for line := range bytes.Lines(lines) {
		var w written
		if r.Dir == "in" && json.Unmarshal(line, &w) == nil {
			list = append(list, w)
		}
	}
	return list
}

// play drives a translator by a recording. The translator's own ids differ from
// the recorded ones; renames maps those.
type play struct {
	t       *testing.T
	b       *books
	tr      harness.Translator
	renames []string
	greeted bool
	first   string
	stderr  string
	code    int
}

func (p *play) run(rows []row) {
	p.launch(rows)
	for _, r := range rows {
		switch r.Dir {
		case "in":
			for _, w := range r.inputs() {
				p.in(w)
			}
		case "out":
			p.out(r)
		case "err":
			p.err(r)
		case "meta":
			p.meta(r.Raw)
		}
	}
	p.step(harness.Exited{Status: harness.ExitStatus{Code: p.code, Stderr: p.stderr}})
	if p.b.open { // the machine ends it with process_exit
		p.b.end()
	}
}

// launch begins the first turn at once: the recordings' drivers shook hands
// before there was one.
func (p *play) launch(rows []row) {
	l := harness.Launch{NativeID: "native"}
	prompted := false
	for _, r := range rows {
		for _, w := range r.inputs() {
			if w.Request.Subtype == "initialize" && !p.greeted && !prompted {
				p.renames = append(p.renames, w.ID, "id-2")
				p.greeted = true
			}
			if w.Type == "user" && !prompted {
				prompted, p.first = true, w.UUID
				p.rename(w.UUID, "id-1")
			}
		}
		var m struct{ Argv []string }
		if _ = json.Unmarshal(r.Raw, &m); slices.Contains(m.Argv, "--resume") {
			l.Resume, l.NativeID = "native", ""
		}
	}
	p.tr = New(Options{}).New(l, ids())
	p.begin()
	if !p.greeted {
		p.line([]byte(greeted))
	}
}

// rename notes which id of ours stands for one of the recording; "": it had none.
func (p *play) rename(recorded, ours string) {
	if recorded != "" {
		p.renames = append(p.renames, recorded, ours)
	}
}

func (p *play) begin() harness.Output {
	p.b.begin()
	return p.step(harness.Begin{Turn: "t", Input: protocol.TextInput("hello")})
}

func (p *play) step(in harness.Input) harness.Output {
	out := p.tr.Step(in)
	stdin(p.t, out)
	p.b.take(out)
	return out
}

func (p *play) line(line []byte) {
	out := p.tr.Line(line)
	stdin(p.t, out)
	p.b.take(out)
}

// out gives a line of the CLI as it wrote it: compact, our ids in place of the
// recorded driver's.
func (p *play) out(r row) {
	if r.Raw == nil {
		p.line([]byte(r.Text))
		return
	}
	var b bytes.Buffer
	_ = json.Compact(&b, r.Raw)
	p.line([]byte(strings.NewReplacer(p.renames...).Replace(b.String())))
}

func (p *play) in(w written) {
	switch {
	case w.Type == "user":
		p.user(w)
	case w.Type == "control_request" && w.Request.Subtype == "interrupt":
		p.interrupt(w)
	case w.Type == "control_response":
		p.answer(w)
	}
}

// user begins a turn, unless one runs: prompts that the recorded driver queued in
// the CLI are ones that a gateway would have held back.
func (p *play) user(w written) {
	if w.UUID == p.first || p.b.open {
		return
	}
	out := p.begin()
	for _, line := range stdin(p.t, out) {
		if line["type"] == "user" {
			p.rename(w.UUID, line["uuid"].(string))
		}
		if line["type"] == "control_request" { // back to the config's mode
			p.line([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"` + line["request_id"].(string) + `"}}`))
			p.rename(w.UUID, p.tr.(*translator).turn.uuid)
		}
	}
}

func (p *play) interrupt(w written) {
	tr := p.tr.(*translator)
	if tr.turn == nil || !tr.turn.registered {
		return
	}
	out := p.step(harness.Cancel{})
	p.renames = append(p.renames, w.ID, stdin(p.t, out)[0]["request_id"].(string))
}

func (p *play) answer(w written) {
	tr := p.tr.(*translator)
	a, open := tr.asks[w.Response.ID]
	if !open {
		return
	}
	r := w.Response.Response
	v := harness.Verdict{Message: r.Message}
	switch {
	case r.Behavior == "allow" && r.Always != nil:
		v.Decision = harness.AllowAlways
	case r.Behavior == "allow":
		v.Decision = harness.Allow
		if !sameJSON(r.Input, a.input) {
			v.UpdatedInput = protocol.Object(r.Input)
		}
	}
	p.step(harness.Resolve{Request: w.Response.ID, Verdict: v})
}

func (p *play) err(r row) {
	var s string
	_ = json.Unmarshal(r.Raw, &s)
	p.stderr += s + r.Text + "\n"
}

func (p *play) meta(raw json.RawMessage) {
	var m struct {
		Note string
		RC   int
	}
	if _ = json.Unmarshal(raw, &m); m.Note == "process exit" {
		p.code = m.RC
	}
}

// sameJSON says whether two values differ in white space alone.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
