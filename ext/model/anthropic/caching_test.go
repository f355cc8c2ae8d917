package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// markers returns what is marked in a request: the path of each marker and its time.
func markers(t *testing.T, body map[string]any) (found []string) {
	t.Helper()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if mark, ok := v["cache_control"].(map[string]any); ok {
				require.Equal(t, "ephemeral", mark["type"])
				ttl, _ := mark["ttl"].(string)
				text, _ := v["text"].(string)
				name, _ := v["name"].(string)
				id, _ := v["tool_use_id"].(string)
				found = append(found, strings.Trim(path+" "+text+name+id+" "+ttl, " "))
			}
			for _, key := range []string{"tools", "system", "messages", "content"} {
				walk(key, v[key])
			}
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		}
	}
	walk("", body)
	return found
}

var conversation = []*schema.AgenticMessage{
	schema.SystemAgenticMessage("be"), schema.SystemAgenticMessage("nice"), user(inputText("one")),
	own(thought("hm", "s"), toolCall("c1", "a", "")), user(toolResult("c1", "x")), own(genText("two")), user(inputText("three"), inputText("four")),
}

// Holds providers/A19.
func TestCache_MarksOfTheApplication(t *testing.T) {
	tools := []*schema.ToolInfo{SetToolInfoCacheControl(toolA, &CacheControl{TTL: CacheTTL1h}), {Name: "b"}}
	body := capture(t, unchanged, []*schema.AgenticMessage{
		SetAgenticMessageCacheControl(schema.SystemAgenticMessage("be"), &CacheControl{TTL: CacheTTL1h}),
		user(SetContentBlockCacheControl(inputText("one"), nil), inputText("two")),
		own(toolCall("c1", "a", "")),
		SetAgenticMessageCacheControl(user(toolResult("c1", "x")), &CacheControl{}),
	}, model.WithTools(tools))
	require.Equal(t, []string{"tools a 1h", "system be 1h", "content one", "content c1"}, markers(t, body))
	require.Nil(t, toolA.Extra)

	r := new(recorder)
	_, err := newChat(t, r).Generate(t.Context(), []*schema.Message{
		SetMessageBreakpoint(schema.SystemMessage("be")), SetMessageCacheControl(schema.UserMessage("hi"), &CacheControl{TTL: CacheTTL5m}),
	}, model.WithTools([]*schema.ToolInfo{SetToolInfoBreakpoint(toolA)}))
	require.NoError(t, err)
	require.Equal(t, []string{"tools a", "system be", "content hi"}, markers(t, r.body(t, 0)))
	require.Contains(t, string(r.bodies[0]), `"cache_control":{"type":"ephemeral"}`)
}

// Holds providers/A19: a mark inside the result of a tool is one of the result.
func TestCache_MarksInsideResults(t *testing.T) {
	result := toolResult("c1", "x")
	result.FunctionToolResult.Content[0].Extra = map[string]any{cacheKey: "1h"}
	body := capture(t, unchanged, []*schema.AgenticMessage{user(inputText("hi")), own(toolCall("c1", "a", "")), user(result)})
	require.Equal(t, []string{"content c1 1h"}, markers(t, body))
}

// Holds providers/A20.
func TestCache_Automatic(t *testing.T) {
	tools := model.WithTools([]*schema.ToolInfo{toolA, {Name: "b"}})
	require.Empty(t, markers(t, capture(t, unchanged, conversation, tools)))
	server := capture(t, func(c *Config) { c.AutoCache = AutoCacheServer }, conversation, tools)
	require.Equal(t, []string{""}, markers(t, server))
	explicit := capture(t, unchanged, conversation, tools, WithAutoCache(AutoCacheExplicit, CacheTTL1h))
	require.Equal(t, []string{"tools b 1h", "system nice 1h", "content c1 1h", "content four 1h"}, markers(t, explicit))
}

// Holds providers/A21.
func TestCache_MarksMoveFromWhatCannotCarryThem(t *testing.T) {
	body := capture(t, unchanged, []*schema.AgenticMessage{
		user(inputText("one")), own(genText("so"), SetContentBlockCacheControl(thought("hm", "s"), nil), toolCall("c1", "a", "")),
		user(toolResult("c1", "x")),
	})
	require.Equal(t, []string{"content so"}, markers(t, body))
	raw := rawBlock(json.RawMessage(`{"type":"image","source":{"type":"file","file_id":"f"}}`), "")
	body = capture(t, unchanged, []*schema.AgenticMessage{SetAgenticMessageCacheControl(user(inputText("one"), raw), nil)})
	require.Equal(t, []string{"content one"}, markers(t, body))
}

// Holds providers/A21.
func TestCache_FourMarkersAndTheLongerFirst(t *testing.T) {
	mark := func(text string, ttl CacheTTL) *schema.ContentBlock {
		return SetContentBlockCacheControl(inputText(text), &CacheControl{TTL: ttl})
	}
	four := []*schema.AgenticMessage{user(mark("1", ""), mark("2", ""), mark("3", ""), mark("4", ""), inputText("5"))}
	require.Len(t, markers(t, capture(t, unchanged, four, WithAutoCache(AutoCacheExplicit, ""))), 4)
	require.Len(t, markers(t, capture(t, unchanged, four, WithAutoCache(AutoCacheServer, ""))), 4)
	five := []*schema.AgenticMessage{user(append(four[0].ContentBlocks, mark("6", ""))...)}
	require.ErrorContains(t, refused(t, unchanged, five), "5 parts of the prompt are marked for the cache")
	mixed := []*schema.AgenticMessage{user(mark("1", CacheTTL5m), mark("2", CacheTTL1h))}
	require.ErrorContains(t, refused(t, unchanged, mixed), "1h behind one that is cached for 5m")
	short := []*schema.AgenticMessage{user(mark("1", CacheTTL5m), inputText("2"))}
	for _, mode := range []AutoCache{AutoCacheServer, AutoCacheExplicit} {
		require.ErrorContains(t, refused(t, unchanged, short, WithAutoCache(mode, CacheTTL1h)), "1h behind one that is cached for 5m")
		require.Len(t, markers(t, capture(t, unchanged, short, WithAutoCache(mode, CacheTTL5m))), 2)
	}
}

// Holds providers/A22 and providers/K33.
func TestUsage_CountsTheCacheApart(t *testing.T) {
	const usage = `{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":15},"output_tokens":50,` +
		`"output_tokens_details":{"thinking_tokens":40},"server_tool_use":null}`
	got, err := newAgentic(t, whole(`{"type":"message","id":"i","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":`+usage+`}`)).
		Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, &schema.TokenUsage{
		PromptTokens: 123, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 100, CacheWriteTokens: 20},
		CompletionTokens: 50, CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 40}, TotalTokens: 173,
	}, got.ResponseMeta.TokenUsage)
	require.Empty(t, kit.CheckUsage(got.ResponseMeta.TokenUsage))
	require.Contains(t, got.Extra[kit.UsageRawKey], `"ephemeral_1h_input_tokens":15`)
}
