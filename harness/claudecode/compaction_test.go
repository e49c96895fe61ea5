package claudecode

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

func status(members string) string { return `{"type":"system","subtype":"status",` + members + `}` }

const (
	compactsNow = `{"type":"system","subtype":"status","status":"compacting"}`
	compactedOK = `{"type":"system","subtype":"status","status":null,"compact_result":"success"}`
	boundary    = `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":190030,"post_tokens":2685}}`
	summary     = `{"type":"user","isSynthetic":true,"message":{"content":[{"type":"text","text":"So far."}]}}`
)

func TestCompaction(t *testing.T) {
	t.Parallel()
	begun := harness.Compaction{Key: "id-3", Status: "in_progress"}
	full := harness.Compaction{Key: "id-3", Status: "completed", Trigger: "auto", PreTokens: new(190030.0), PostTokens: new(2685.0), Summary: "So far."}
	bare := harness.Compaction{Key: "id-3", Status: "completed"}
	unsummed := full
	unsummed.Summary = ""
	finished := harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"}
	const success = `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`
	for _, tc := range []struct {
		name  string
		lines []string
		want  []harness.Update
	}{
		{"auto", []string{compactsNow, compactedOK, boundary, summary}, []harness.Update{begun, full}},
		{"manual: init comes in between, the summary is a string", []string{compactsNow, compactedOK, inited, boundary,
			`{"type":"user","isReplay":false,"isSynthetic":true,"message":{"content":"So far."}}`,
			`{"type":"user","isReplay":true,"message":{"content":"<local-command-stdout>Compacted </local-command-stdout>"}}`}, []harness.Update{begun, full}},
		{"begun once", []string{compactsNow, compactsNow}, []harness.Update{begun}},
		{"failed", []string{compactsNow, status(`"status":null,"compact_result":"failed","compact_error":"x"`)},
			[]harness.Update{begun, harness.Compaction{Key: "id-3", Status: "failed"}}},
		{"without a summary", []string{compactsNow, compactedOK, boundary, messageStart("m")}, []harness.Update{begun, unsummed, opened("m")}},
		{"without a boundary", []string{compactsNow, compactedOK, success}, []harness.Update{begun, bare, finished}},
		{"without a begin", []string{boundary, summary}, []harness.Update{full}},
		{"a summary of nothing", []string{summary}, nil},
		{"told once", []string{compactsNow, compactedOK, boundary, summary, summary, compactedOK}, []harness.Update{begun, full}},
		{"never ended", []string{compactsNow, success}, []harness.Update{begun, harness.Compaction{Key: "id-3", Status: "failed"}, finished}},
		{"interrupted", []string{compactsNow, aborted}, []harness.Update{begun, harness.Compaction{Key: "id-3", Status: "cancelled"},
			harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantUpdates(t, feed(running(t), tc.lines...), tc.want...)
		})
	}
}

func TestTwoCompactionsInOneTurn(t *testing.T) {
	t.Parallel()
	got := feed(running(t), compactsNow, compactedOK, boundary, summary, compactsNow, compactedOK, boundary, boundary).Updates
	var keys []string
	for _, u := range got {
		keys = append(keys, u.(harness.Compaction).Key+" "+u.(harness.Compaction).Status)
	}
	want := []string{"id-3 in_progress", "id-3 completed", "id-4 in_progress", "id-4 completed"}
	if len(keys) != len(want) {
		t.Fatalf("%v", keys)
	}
	for i := range want {
		if keys[i] != want[i] {
			t.Errorf("%v, want %v", keys, want)
		}
	}
}

// A process that dies leaves no compaction running.
func TestCompactionAndExit(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, compactsNow)
	wantUpdates(t, tr.Step(harness.Exited{}), harness.Compaction{Key: "id-3", Status: "failed"})
}

// An interrupted /compact ends as if all had gone well; what was interrupted says
// otherwise.
func TestCompactionIsCancelled(t *testing.T) {
	t.Parallel()
	const compacting, failed = `{"type":"system","subtype":"status","status":"compacting"}`,
		`{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"aborted"}`
	const result = `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"user_message_uuids":["id-1"]}`
	tr := running(t)
	feed(tr, compacting)
	tr.Step(harness.Cancel{})
	wantUpdates(t, feed(tr, failed, result),
		harness.Compaction{Key: "id-3", Status: "cancelled"},
		harness.Finished{Reason: protocol.StopCancelled, Raw: "success"})
	// One that fails by itself, before the cancel, cancels nothing.
	tr = running(t)
	feed(tr, compacting, failed)
	tr.Step(harness.Cancel{})
	wantUpdates(t, feed(tr, result), harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"})
}
