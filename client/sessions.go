package client

import (
	"context"

	"agent-server/protocol"
)

// Sessions lists the sessions that a gateway holds, the one updated last first. A
// gateway whose capabilities do not name session/list refuses it.
func (c *Client) Sessions(ctx context.Context) ([]protocol.SessionEntry, error) {
	var all []protocol.SessionEntry
	for p := (protocol.SessionListParams{}); ; {
		var r protocol.SessionListResult
		if err := c.call(ctx, protocol.MethodSessionList, repeat, p, &r); err != nil {
			return nil, err
		}
		all = append(all, r.Sessions...)
		// A page that gives nothing is the last, whatever it says: no server may
		// keep us asking.
		if r.NextCursor == nil || len(r.Sessions) == 0 {
			return all, nil
		}
		p.Cursor = r.NextCursor
	}
}
