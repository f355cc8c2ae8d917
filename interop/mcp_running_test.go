package interop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

const longOperation = "trigger-long-running-operation"

// worker is an agent that has a server do something long.
func worker(t *testing.T, server *mcptool.Server, arguments string, then ...adktest.Answer) *adk.Runner {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "worker", Description: "works",
		Model:    adktest.NewModel(t, append([]adktest.Answer{adktest.Calls(adktest.Call(longOperation, arguments))}, then...)...),
		Handlers: []adk.ChatModelAgentMiddleware{server.Middleware()}})
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
}

// progressOf is the progress in an event, if it has any.
func progressOf(e *adk.AgentEvent) *mcptool.Progress {
	if e.Output == nil {
		return nil
	}
	p, _ := e.Output.CustomizedOutput.(*mcptool.Progress)
	return p
}

// What a server says of its progress is events of the run, the last of it always.
func TestMCP_ProgressOfAServerIsInTheRun(t *testing.T) {
	r := worker(t, mcpServer(t, "server-everything"), `{"duration":1,"steps":4}`, adktest.Says("done"))
	var last mcptool.Progress
	for e := range r.Query(t.Context(), "work").All() {
		require.NoError(t, e.Err)
		if p := progressOf(e); p != nil {
			require.Greater(t, p.Done, last.Done)
			last = *p
		}
	}
	require.Equal(t, mcptool.Progress{Server: "server-everything", Tool: longOperation, CallID: "call_1", Done: 4, Total: 4}, last)
}

// A server that is killed in the middle of a call may have carried it out: the call is not made again. The next one is
// made by another process.
func TestMCP_AServerThatIsKilledInACallIsNotAskedAgain(t *testing.T) {
	server := mcpServer(t, "server-everything")
	marker := "server-everything/dist/index.js"
	var failed *mcptool.CallError
	for e := range worker(t, server, `{"duration":60,"steps":600}`).Query(t.Context(), "work").All() {
		if progressOf(e) != nil && failed == nil { // it is at work
			killChildren(t, marker)
		}
		if e.Err != nil {
			require.True(t, errors.As(e.Err, &failed), "%v", e.Err)
		}
	}
	require.NotNil(t, failed)
	require.Equal(t, mcptool.OutcomeUnknown, failed.Kind)
	require.Equal(t, "Echo: hi", toolsOf(t, server).text("echo", map[string]any{"message": "hi"}))
}

// killChildren kills the children of this process whose command has some words.
func killChildren(t *testing.T, words string) {
	t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "-f", words).Output()
	if err != nil { // they have ended
		return
	}
	for _, child := range strings.Fields(string(out)) {
		_ = exec.Command("kill", "-9", child).Run()
	}
}

// A server that adds tools when it knows what its client can do says so, and the next reader of the list has them.
func TestMCP_ToolsThatAreAddedLaterAreSeen(t *testing.T) {
	server, err := mcptool.New(mcptool.Config{Name: "everything", Command: npmServer(t, "server-everything"),
		//lint:ignore SA1019 servers of today ask for it
		Roots: []*mcp.Root{{URI: "file:///data", Name: "data"}},
		Elicit: func(context.Context, mcptool.Input, []mcptool.Call) (mcptool.Answer, error) {
			return mcptool.Answer{Action: mcptool.Decline}, nil
		}})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	require.Eventually(t, func() bool {
		box := toolsOf(t, server)
		return box.tools["get-roots-list"] != nil && box.tools["trigger-elicitation-request"] != nil
	}, 10*time.Second, 20*time.Millisecond)
	require.Contains(t, toolsOf(t, server).text("get-roots-list", nil), "file:///data")
}
