package client

import (
	"context"

	"agent-server/protocol"
)

// Harnesses lists what a gateway can run turns on, and why it cannot run the rest. It
// may take as long as executables take to say their version. A gateway whose
// capabilities do not name harness/list refuses it.
func (c *Client) Harnesses(ctx context.Context) ([]protocol.HarnessEntry, error) {
	var r protocol.HarnessListResult
	if err := c.call(ctx, protocol.MethodHarnessList, repeat, struct{}{}, &r); err != nil {
		return nil, err
	}
	return r.Harnesses, nil
}
