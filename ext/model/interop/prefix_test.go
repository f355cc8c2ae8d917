package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// sentBodies keeps the bodies of requests that call a model.
type sentBodies struct {
	http.RoundTripper

	mu     sync.Mutex // guards bodies
	bodies [][]byte
}

func (s *sentBodies) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	return s.RoundTripper.RoundTrip(req)
}

// cacheMark is the place where a request asks Claude to cache: it moves on with the conversation, and is no part of what is
// cached.
var cacheMark = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// cachedPart holds what a provider may find in its cache: all that comes before the conversation, and its messages, as
// sent.
func cachedPart(t *testing.T, body []byte) (before map[string]string, conversation []string) {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(cacheMark.ReplaceAll(body, nil), &fields))
	before = map[string]string{}
	for _, name := range []string{"model", "system", "instructions", "systemInstruction", "system_instruction", "tools", "tool_choice"} {
		if text, ok := fields[name]; ok {
			before[name] = string(text)
		}
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if text, ok := fields[name]; ok {
			var items []json.RawMessage
			require.NoError(t, json.Unmarshal(text, &items))
			for _, item := range items {
				conversation = append(conversation, string(item))
			}
		}
	}
	require.NotEmpty(t, conversation, "%s", body)
	return before, conversation
}

// slowThenAsking is a tool whose earlier calls take longer than later ones, and whose very first call asks a person.
func slowThenAsking(t *testing.T) tool.InvokableTool {
	t.Helper()
	look, err := utils.InferTool("look", "Looks something up.", func(ctx context.Context, in lookInput) (string, error) {
		if target, _, _ := tool.GetResumeContext[any](ctx); in.N == 0 && !target {
			return "", tool.Interrupt(ctx, "May I look?")
		}
		time.Sleep(time.Duration(1-in.N%calls) * 5 * time.Millisecond)
		return fmt.Sprint(resultMark, in.N), nil
	})
	require.NoError(t, err)
	return look
}

// TestConversation_EachRequestBeginsWithTheBytesOfTheOneBefore: what a provider has cached of a conversation, it finds again in
// the next request: over calls side by side of any speed, a question across a restart, and the next turn of the conversation.
// Rule distributed/M18.
func TestConversation_EachRequestBeginsWithTheBytesOfTheOneBefore(t *testing.T) {
	t.Run("chat", requestsBeginWithTheOneBefore[*schema.Message])
	t.Run("agentic", requestsBeginWithTheOneBefore[*schema.AgenticMessage])
}

func requestsBeginWithTheOneBefore[M adk.MessageType](t *testing.T) {
	for name := range providers() {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " streaming ", streaming), func(t *testing.T) {
				w := newWorld(t)
				sent := &sentBodies{RoundTripper: w.client.Transport}
				w.client = &http.Client{Transport: sent}
				store := checkpoint.NewMemoryStore()
				runner := func() *adk.TypedRunner[M] { // of a process of its own
					return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{EnableStreaming: streaming, CheckPointStore: store,
						Agent: agentOf(t, modelOf[M](w, name), slowThenAsking(t))})
				}
				var opts []adk.AgentRunOption
				_, isOrdinary := any(*new(M)).(*schema.Message)
				if isOrdinary { // conversations are of these
					chat, err := conversation.New(store, "ana")
					require.NoError(t, err)
					opts = append(opts, chat.RunOption(conversation.HistoryOptions{}))
				}
				asked := ""
				for event := range runner().Query(t.Context(), "Look around.", append(opts, adk.WithCheckPointID("1"))...).All() {
					require.NoError(t, event.Err)
					if event.Action != nil && event.Action.Interrupted != nil {
						asked = event.Action.Interrupted.InterruptContexts[0].ID
					}
				}
				require.NotEmpty(t, asked)
				events, err := runner().ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{asked: true}}, opts...)
				require.NoError(t, err)
				adktest.Collect(t, events).ExpectNoError()
				want := turns + 1
				if isOrdinary {
					adktest.Collect(t, runner().Query(t.Context(), "And now?", append(opts, adk.WithCheckPointID("2"))...)).ExpectNoError()
					want++
				}
				require.Len(t, sent.bodies, want)
				for i := 1; i < want; i++ {
					earlier, had := cachedPart(t, sent.bodies[i-1])
					later, has := cachedPart(t, sent.bodies[i])
					require.Equal(t, earlier, later)
					require.Greater(t, len(has), len(had))
					require.Equal(t, had, has[:len(had)], "request %d", i+1)
				}
			})
		}
	}
}
