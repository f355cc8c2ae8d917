package ollama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// answered returns the message of a body.
func answered(t *testing.T, body string, change ...func(*Config)) (*schema.Message, error) {
	t.Helper()
	conf := func(c *Config) { c.HTTPClient = &http.Client{Transport: answering(body)} }
	m := modelAt(t, "http://server.test", append(change, conf)...)
	sr, err := m.Stream(t.Context(), question)
	require.NoError(t, err)
	return schema.ConcatMessageStream(sr)
}

// Servers in between differ from Ollama itself.
// Rule providers/O3.
func TestAnswer_ArgumentsAsText(t *testing.T) {
	for wire, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `"{\"a\":1}"`: `{"a":1}`, `""`: "{}", `null`: "{}", `{ "a" : 1 }`: `{ "a" : 1 }`,
	} {
		m, err := answered(t, `{"message":{"tool_calls":[{"function":{"name":"f","arguments":`+wire+`}}]},`+done)
		require.NoError(t, err)
		require.Equal(t, want, m.ToolCalls[0].Function.Arguments, wire)
	}
	m, err := answered(t, `{"message":{"tool_calls":[{"function":{"name":"f"}}]},`+done)
	require.NoError(t, err)
	require.Equal(t, "{}", m.ToolCalls[0].Function.Arguments)
}

// Rule providers/O3.
func TestAnswer_Images(t *testing.T) {
	const png = "iVBORw0KGgo="
	m, err := answered(t, `{"message":{"content":"Here","images":["`+png+`"]},`+done)
	require.NoError(t, err)
	require.Len(t, m.AssistantGenMultiContent, 1)
	require.Equal(t, png, *m.AssistantGenMultiContent[0].Image.Base64Data)
	require.Equal(t, "image/png", m.AssistantGenMultiContent[0].Image.MIMEType)
	require.Contains(t, sentMessages(t, []*schema.Message{question[0], m, question[0]}), `"images":["`+png+`"]`)

	m, err = answered(t, `{"message":{"images":["`+png+`"]},`+done)
	require.NoError(t, err, "an image is content")
	require.NotNil(t, m)
}

// Rule providers/K20.
func TestAnswer_ErrorsInOtherForms(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"the runner has died"}`:                                      "ollama: the runner has died",
		`{"error":{"message":"overloaded","type":"overloaded_error"}}`:         "ollama: status 529: overloaded (type overloaded_error)",
		`{"error":{"x":1}}`:                                                    `ollama: error without a message`,
		`{"message":{"content":"a"},"done":false}` + "\n" + `{"error":"late"}`: "ollama: late",
	} {
		_, err := answered(t, body)
		var api *kit.APIError
		require.ErrorAs(t, err, &api, body)
		require.EqualError(t, err, want)
	}
	m, err := answered(t, `{"error":null,"message":{"content":"a"},`+done)
	require.NoError(t, err)
	require.Equal(t, "a", m.Content)
}

// Rules providers/K33, providers/K34, providers/O4.
func TestAnswer_Usage(t *testing.T) {
	for end, want := range map[string]*schema.TokenUsage{
		`"prompt_eval_count":9,"eval_count":4`: {PromptTokens: 9, CompletionTokens: 4, TotalTokens: 13},
		`"eval_count":4`:                       {CompletionTokens: 4, TotalTokens: 4},
		`"total_duration":4`:                   nil,
	} {
		m, err := answered(t, `{"message":{"content":"a"},"done":true,"done_reason":"stop",`+end+`}`)
		require.NoError(t, err)
		require.Equal(t, want, m.ResponseMeta.Usage, end)
		require.Empty(t, kit.CheckUsage(m.ResponseMeta.Usage))
	}
	m, err := answered(t, `{"message":{"content":"a"},"done":true,"done_reason":"length","prompt_eval_count":0,"eval_count":0}`)
	require.NoError(t, err)
	require.NotContains(t, m.Extra, ContextFullKey, "the size of the context is not known")
}

// Rules providers/K42, providers/K43.
func TestAnswer_FinishReasons(t *testing.T) {
	for reason, want := range map[string]kit.Finish{
		"stop": kit.FinishStop, "length": kit.FinishLength, "load": kit.FinishPaused, "unload": kit.FinishPaused,
		"new": kit.FinishUnknown, "": kit.FinishUnknown,
	} {
		m, err := answered(t, `{"message":{"content":"a"},"done":true,"done_reason":"`+reason+`"}`)
		require.NoError(t, err)
		require.Equal(t, reason, m.ResponseMeta.FinishReason)
		require.Equal(t, want, kit.FinishOf(m))
	}
	var stopped *kit.StoppedError
	_, err := answered(t, `{"message":{"content":""},"done":true,"done_reason":"load"}`)
	require.ErrorAs(t, err, &stopped)
	m, err := answered(t, `{"message":{"content":""},"done":true,"done_reason":"stop"}`)
	require.NoError(t, err)
	require.True(t, kit.IsEmpty(m))
}

// However the bytes are cut, the answer is the same.
// Rules providers/K23, providers/K25.
func TestAnswer_DoesNotDependOnHowTheBytesCome(t *testing.T) {
	body := string(toolTurn.Bytes()) + "\n"
	var want *schema.Message
	for _, variant := range []string{body, strings.ReplaceAll(body, "\n", "\r\n"), strings.ReplaceAll(body, "\n", "\n\n"),
		strings.ReplaceAll(body, "\n", "\n{\"new\":1}\n")} {
		for size := range 40 {
			m := modelAt(t, "http://server.test", func(c *Config) {
				c.HTTPClient = &http.Client{Transport: inPieces{variant, size + 1}}
			})
			got := joined(t, m, question)
			for i := range got.ToolCalls {
				require.NotEmpty(t, got.ToolCalls[i].ID)
				got.ToolCalls[i].ID = ""
			}
			if want == nil {
				want = got
			}
			require.Equal(t, want, got)
		}
	}
	require.Equal(t, "Look", want.Content)
}

// inPieces is a transport whose responses come in pieces of so many bytes.
type inPieces struct {
	body string
	size int
}

func (p inPieces) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := answering("").RoundTrip(req)
	resp.Body = io.NopCloser(&pieces{strings.NewReader(p.body), p.size})
	return resp, err
}

type pieces struct {
	r    io.Reader
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.size, len(b))]) }

// Rule providers/K18.
func TestAnswer_CutBehindAnyLineIsAnError(t *testing.T) {
	lines := strings.SplitAfter(string(toolTurn.Bytes()), "\n")
	lines = lines[:len(lines)-1]
	for n := 1; n < len(lines); n++ {
		_, err := answered(t, strings.Join(lines[:n], ""))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
	}
	_, err := answered(t, strings.Join(lines, ""))
	require.NoError(t, err)
}

func TestThinking_IsReadLikeText(t *testing.T) {
	var b strings.Builder
	var want strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, `{"created_at":"%d","message":{"role":"assistant","content":"","thinking":"t%d \" ä\n"},"done":false}`+"\n", i, i)
		fmt.Fprintf(&want, "t%d \" ä\n", i)
	}
	for i := range 50 {
		fmt.Fprintf(&b, `{"created_at":"%d","message":{"role":"assistant","content":"c%d "},"done":false}`+"\n", i, i)
	}
	m, err := answered(t, strings.ReplaceAll(strings.ReplaceAll(b.String(), "\n\"", `\n"`), "\n{", "\n{")+`{"message":{},`+done)
	require.NoError(t, err)
	require.Equal(t, want.String(), m.ReasoningContent)
	require.Len(t, strings.Fields(m.Content), 50)
}

// Closing some of many readers early leaves the others alone.
// Rule providers/K22.
func TestStream_ManyAtOnce(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	server := kittest.Server(t, kittest.Ollama(), kittest.Always(toolTurn))
	m := modelAt(t, server.URL)
	errs := make([]error, n)
	free := make(chan struct{}, 50)
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			errs[i] = oneOfMany(t.Context(), m, i%3 == 0)
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

func oneOfMany(ctx context.Context, m *ChatModel, early bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sr, err := m.Stream(ctx, question, model.WithTools(tools))
	if err != nil {
		return err
	}
	if early {
		_, err := sr.Recv()
		cancel()
		sr.Close()
		return err
	}
	got, err := schema.ConcatMessageStream(sr)
	if err == nil && got.Content != "Look" {
		err = fmt.Errorf("the answer is %q", got.Content)
	}
	return err
}

// Rules providers/K15, providers/K41.
func TestToolChoice_ForcedIsLeftOutIfTheConfigSaysSo(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), kittest.Always(kittest.OllamaStream("ok")))
	forced := []model.Option{model.WithTools(tools), model.WithToolChoice(schema.ToolChoiceForced)}
	_, err := modelAt(t, server.URL).Generate(t.Context(), question, forced...)
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "DropUnsupported")
	m := modelAt(t, server.URL, func(c *Config) { c.DropUnsupported = true })
	got := joined(t, m, question, forced...)
	require.Equal(t, `["tool_choice"]`, got.Extra[kit.DroppedSettingsKey])
	require.Contains(t, string(server.Requests()[0].Body), `"name":"look"`)
	joined(t, m, question, model.WithTools(tools), model.WithToolChoice(schema.ToolChoiceForbidden))
	require.NotContains(t, string(server.Requests()[1].Body), `"tools"`)
}

// The context that Describe says is the one that calls have, as far as anybody knows it.
func TestDescribe_TheContextOfTheCalls(t *testing.T) {
	shown := `{"parameters":"stop  \"<|end|>\"\nnum_ctx                        16384","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`
	server := kittest.Server(t, nil, kittest.Always(kittest.JSON(shown)))
	for numCtx, want := range map[int]int{0: 16384, 8192: 8192, 100_000: 40960} {
		info, err := modelAt(t, server.URL, func(c *Config) { c.Options.NumCtx = numCtx }).Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, info.ContextWindow)
	}
}

// Rule providers/K1.
func TestConfig_AddressOfAnotherAPI(t *testing.T) {
	for _, url := range []string{"http://localhost:11434/v1", "http://localhost:11434/api/", "http://h/ollama/api/chat"} {
		_, err := NewChatModel(t.Context(), &Config{Model: "m", BaseURL: url})
		require.ErrorContains(t, err, "BaseURL must not", url)
	}
	_, err := NewChatModel(t.Context(), &Config{Model: "m", BaseURL: "https://h/ollama"})
	require.NoError(t, err)
}

// Rule providers/K6, providers/K31.
func TestTokenSource_IsAskedForEveryAttempt(t *testing.T) {
	refused := kittest.Status(http.StatusUnauthorized, `{"error":"unauthorized"}`)
	server := kittest.Server(t, kittest.Ollama(), refused, kittest.OllamaStream("ok"))
	asked := 0
	m := modelAt(t, server.URL, func(c *Config) {
		c.TokenSource = func(context.Context) (string, error) {
			asked++
			return fmt.Sprintf("token-%d", asked), nil
		}
	})
	require.Equal(t, "ok", joined(t, m, question).Content)
	require.Equal(t, "Bearer token-2", server.Requests()[1].Header.Get("Authorization"))
}

func TestAgenticModel_SpeaksInBlocks(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), toolTurn, wholeTurn)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	idle := time.Second
	m, err := NewAgenticModel(t.Context(), &Config{
		BaseURL: server.URL, Model: "m", HTTPClient: &http.Client{Transport: transport}, IdleTimeout: &idle,
	})
	require.NoError(t, err)
	in := []*schema.AgenticMessage{schema.UserAgenticMessage("question")}
	sr, err := m.Stream(t.Context(), in, model.WithTools(tools))
	require.NoError(t, err)
	var chunks []*schema.AgenticMessage
	for chunk, err := range sr.All() {
		require.NoError(t, err)
		chunks = append(chunks, chunk)
	}
	streamed, err := schema.ConcatAgenticMessages(chunks)
	require.NoError(t, err)
	whole, err := m.Generate(t.Context(), in, model.WithTools(tools))
	require.NoError(t, err)
	for _, got := range []*schema.AgenticMessage{streamed, whole} {
		require.Len(t, got.ContentBlocks, 4)
		require.Equal(t, "hm", got.ContentBlocks[0].Reasoning.Text)
		require.Equal(t, "Look", got.ContentBlocks[1].AssistantGenText.Text)
		require.Equal(t, `{"n":1}`, got.ContentBlocks[2].FunctionToolCall.Arguments)
		require.Equal(t, 13, got.ResponseMeta.TokenUsage.TotalTokens)
		require.Equal(t, kit.FinishToolCalls, kit.FinishOf(got))
	}
}

// Rule providers/K52.
func TestRawHook_SeesDocuments(t *testing.T) {
	var seen []string
	body := `{"message":{"content":"x"},"created_at":"now",` + done
	m, err := answered(t, body, func(c *Config) {
		c.RawHook = func(_ context.Context, a kit.RawAnswer) error {
			seen = append(seen, string(a.JSON))
			return nil
		}
	})
	require.NoError(t, err)
	require.Equal(t, "x", m.Content)
	require.Equal(t, []string{strings.TrimSpace(body)}, seen)
}
