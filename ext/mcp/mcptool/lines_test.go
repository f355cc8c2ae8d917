package mcptool_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// brittle breaks in the first message that calls a tool: all but its last bytes arrive.
type brittle struct {
	io.WriteCloser
	missing int
	broke   *atomic.Bool
	running chan struct{} // closed when the tool runs, if it does
}

func (b brittle) Write(p []byte) (int, error) {
	if !strings.Contains(string(p), `"tools/call"`) || !b.broke.CompareAndSwap(false, true) {
		return b.WriteCloser.Write(p)
	}
	n, _ := b.WriteCloser.Write(p[:len(p)-b.missing])
	if b.missing == 1 {
		<-b.running
	}
	_ = b.Close()
	return n, io.ErrClosedPipe
}

// A call of which the server has the whole value may run, whether its line has ended or not; one that broke off before
// cannot, and is made again.
// Rule mcp/MC5.
func TestCall_IsMadeAgainOnlyIfItBrokeOffOnItsWay(t *testing.T) {
	for missing, again := range map[int]bool{1: false, 2: true, 20: true} {
		var runs atomic.Int32
		var broke atomic.Bool
		running := make(chan struct{})
		s := newServer()
		addTool(s, "pay", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs.Add(1); !again {
				close(running)
				<-ctx.Done()
			}
			return says("paid"), nil
		})
		srv := open(t, mcptool.Config{Transport: func(context.Context) (mcp.Transport, error) {
			here, there := net.Pipe()
			_, err := s.Connect(context.Background(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
			return &mcp.IOTransport{Reader: here, Writer: brittle{here, missing, &broke, running}}, err
		}})
		result, err := call(t.Context(), named(t, srv, "pay"), "{}")
		if again {
			require.NoError(t, err)
			require.Equal(t, "paid", result.Parts[0].Text)
		} else {
			failure(t, err, mcptool.OutcomeUnknown)
		}
		require.EqualValues(t, 1, runs.Load(), missing)
	}
}
