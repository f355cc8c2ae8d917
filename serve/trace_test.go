package serve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool/utils"
)

// A run knows the span of the request that has started it: the one of the server, or what the client says.
// Rule serving/SV26.
func TestServer_GivesARunTheSpanOfItsRequest(t *testing.T) {
	const own, theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	for _, c := range []struct {
		conf       Config
		sent, want string
	}{{Config{}, theirs, theirs}, {Config{}, "", ""}, {Config{}, "x", ""}, {Config{}, theirs + "0", ""},
		{Config{Traceparent: func(context.Context) string { return own }}, theirs, own}} {
		seen := "none"
		look, err := utils.InferTool("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
			value, _ := adk.GetSessionValue(ctx, submittedBy)
			seen, _ = value.(string)
			return "", nil
		})
		require.NoError(t, err)
		d := newDesk(t, c.conf, agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
			adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("Hi.")))
		d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10", "Traceparent", c.sent)
		require.Equal(t, c.want, seen)
	}
}
