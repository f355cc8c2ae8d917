package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
	schemaopenai "github.com/weftgo/weft/schema/openai"
)

// Items of all types are the same streamed and whole (providers/K23, R21, R22).
func TestResponsesItems_StreamedAndWholeAreTheSame(t *testing.T) {
	annotated := `{"id":"msg_a","type":"message","role":"assistant","content":[{"type":"output_text","text":"see","annotations":[` +
		`{"type":"file_citation","file_id":"f","filename":"n","index":1},{"type":"container_file_citation","container_id":"c",` +
		`"file_id":"f","start_index":1,"end_index":2},{"type":"file_path","file_id":"p","index":3},{"type":"new"}],` +
		`"logprobs":[{"token":"see","logprob":-1.5}]}]}`
	raw := `{"id":"rs_raw","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"deep"},{"type":"reasoning_text","text":""}]}`
	empty := `{"id":"msg_e","type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}`
	items := []string{thoughtItem1, raw, textItemHi, annotated, empty, refusalItem, callItemOne, callItemTwo, searchItem, codeItem,
		fileItem, imageItem, mcpListItem, mcpCallItem, approvalItem, compactItem, unknownItem, customItem, computerItem,
		patchItem, shellItem, toolSearchOwn}
	docs, whole := scriptOf(items)
	search := &schema.ToolInfo{Name: "find_tools", Desc: "d"}
	answers := map[bool]*schema.AgenticMessage{}
	for _, stream := range []bool{true, false} {
		handler := http.Handler(docs[0])
		if !stream {
			handler = kittest.JSON(whole[0])
		}
		server := kittest.Server(t, kittest.Responses(), handler)
		answer, err := newResponsesAsker(t, responsesAt(server.URL))(t, userSays("go"), stream,
			model.WithToolSearchTool(search), model.WithTools([]*schema.ToolInfo{toolOf("shell"), toolOf("sql")}))
		require.NoError(t, err)
		answers[stream] = answer
	}
	require.Equal(t, answers[false], answers[true])

	blocks := map[string][]*schema.ContentBlock{}
	for _, b := range answers[true].ContentBlocks {
		id, _ := b.Extra["openai_item_id"].(string)
		blocks[id] = append(blocks[id], b)
	}
	require.Equal(t, []*schemaopenai.ReasoningContent{{Text: "deep"}, {}}, blocks["rs_raw"][0].Reasoning.OpenAIExtension.Content)
	require.Equal(t, "No way.", blocks["msg_r"][0].AssistantGenText.OpenAIExtension.Refusal.Reason) // providers/R25
	require.Empty(t, blocks["msg_r"][0].AssistantGenText.Text)
	annotations := blocks["msg_a"][0].AssistantGenText.OpenAIExtension.Annotations
	require.Len(t, annotations, 4)
	require.Equal(t, 2, annotations[1].ContainerFileCitation.EndIndex)
	require.Equal(t, `[{"token":"see","logprob":-1.5}]`, blocks["msg_a"][0].Extra[openai.ResponsesLogProbsKey])
	require.Equal(t, `[{"type":"url","url":"https://a"}]`, blocks["ws_1"][1].ServerToolResult.Content)
	require.Equal(t, `{"code":"print(1)","container_id":"cntr_1"}`, blocks["ci_1"][0].ServerToolCall.Arguments)
	require.Equal(t, `[{"type":"logs","logs":"1\n"}]`, blocks["ci_1"][1].ServerToolResult.Content)
	require.Equal(t, `{"queries":["q"]}`, blocks["fs_1"][0].ServerToolCall.Arguments)
	require.Equal(t, "aW1n", blocks["ig_1"][1].AssistantGenImage.Base64Data)
	require.Equal(t, "image/webp", blocks["ig_1"][1].AssistantGenImage.MIMEType)
	require.Equal(t, "ask", blocks["mcpl_1"][0].MCPListToolsResult.Tools[0].Name)
	require.Equal(t, "forty-two", blocks["mcp_1"][1].MCPToolResult.Content)
	require.Nil(t, blocks["mcp_1"][1].MCPToolResult.Error)
	require.Equal(t, "mcpr_1", blocks["mcpr_1"][0].MCPToolApprovalRequest.ID)
	require.Equal(t, unknownItem, blocks["un_1"][0].ServerToolResult.Content)
	require.Equal(t, `{"input":"select 1"}`, blocks["ctc_1"][0].FunctionToolCall.Arguments)
	require.Equal(t, "find_tools", blocks["tsc_1"][0].FunctionToolCall.Name)
	require.Equal(t, "shell", blocks["sh_1"][0].FunctionToolCall.Name) // providers/R19
	require.Equal(t, "computer", blocks["cu_1"][0].ServerToolCall.Name)
	require.Equal(t, "apply_patch", blocks["apc_1"][0].ServerToolCall.Name)
}

// What the application runs for the server has outputs of its own types.
//
// Rules providers/R19, providers/R5
func TestResponsesItems_ApplicationRunsToolsOfTheServer(t *testing.T) {
	image := &schema.FunctionToolResultContentBlock{
		Type:  schema.FunctionToolResultContentBlockTypeImage,
		Image: &schema.UserInputImage{Base64Data: "c2hvdA==", MIMEType: "image/png"},
	}
	shot := schema.NewContentBlock(&schema.FunctionToolResult{CallID: "call_u", Name: "computer",
		Content: []*schema.FunctionToolResultContentBlock{image}})
	shot.Extra = map[string]any{openai.SafetyChecksKey: `[{"id":"sc_1"}]`}
	failed := resultOf("call_s", "no such file")
	failed.ContentBlocks[0].Extra = map[string]any{kit.ErrorKey: true}
	for name, test := range map[string]struct {
		item, tool, want string
		server           openai.ServerTool
		result           *schema.AgenticMessage
	}{
		"computer": {computerItem, "computer", `{"type":"computer_call_output","call_id":"call_u","output":` +
			`{"type":"computer_screenshot","image_url":"data:image/png;base64,c2hvdA=="},"acknowledged_safety_checks":[{"id":"sc_1"}]}`,
			openai.ComputerUse(openai.ComputerUseParams{}),
			&schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{shot}}},
		"patch": {patchItem, "apply_patch", `{"type":"apply_patch_call_output","call_id":"call_p","status":"completed","output":"ok"}`,
			openai.ApplyPatch(), resultOf("call_p", "ok")},
		"shell": {shellItem, "shell", `{"type":"shell_call_output","call_id":"call_s","output":[{"stdout":"no such file","stderr":"",` +
			`"outcome":{"type":"exit","exit_code":1}}]}`, openai.Shell(nil), failed},
		"shell as the API has it": {shellItem, "shell", `{"type":"shell_call_output","call_id":"call_s","output":[{"stdout":"x"}]}`,
			openai.Shell(nil), resultOf("call_s", `[{"stdout":"x"}]`)},
		"custom": {customItem, "sql", `{"type":"custom_tool_call_output","call_id":"call_c","output":"1"}`,
			openai.RawServerTool([]byte(`{"type":"custom","name":"x"}`)), resultOf("call_c", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			docs, _ := scriptOf([]string{thoughtItem1, test.item}, []string{textItemHi})
			server := kittest.Server(t, kittest.Responses(), docs[0], docs[1])
			ask := newResponsesAsker(t, responsesAt(server.URL, func(c *openai.ResponsesConfig) {
				c.ServerTools = []openai.ServerTool{test.server}
			}))
			tools := model.WithTools([]*schema.ToolInfo{toolOf(test.tool)})
			in := userSays("go")
			answer, err := ask(t, in, true, tools)
			require.NoError(t, err)
			call := answer.ContentBlocks[1].FunctionToolCall
			require.NotNil(t, call)
			require.Equal(t, test.tool, call.Name)
			_, err = ask(t, append(in, answer, test.result), true, tools)
			require.NoError(t, err)
			sent := texts(sentInput(t, server.Requests()[1].Body))
			require.JSONEq(t, test.item, sent[2])
			require.Equal(t, test.want, sent[3])
			if name != "custom" { // a server tool is not offered twice
				require.Len(t, sentFields(t, server.Requests()[0].Body)["tools"], 1)
			}
		})
	}
}

// The application searches for tools, and the server.
func TestResponsesItems_ToolSearchByTheApplication(t *testing.T) {
	docs, _ := scriptOf([]string{thoughtItem1, toolSearchOwn}, []string{textItemHi})
	server := kittest.Server(t, kittest.Responses(), docs[0], docs[1])
	ask := newResponsesAsker(t, responsesAt(server.URL))
	search := model.WithToolSearchTool(&schema.ToolInfo{Name: "find_tools", Desc: "finds"})
	in := userSays("go")
	answer, err := ask(t, in, true, search, model.WithDeferredTools([]*schema.ToolInfo{toolOf("mail")}))
	require.NoError(t, err)
	require.JSONEq(t, `{"q":"mail"}`, answer.ContentBlocks[1].FunctionToolCall.Arguments)
	found := schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{CallID: "call_t", Name: "find_tools",
		Result: &schema.ToolSearchResult{Tools: []*schema.ToolInfo{{Name: "mail", Desc: "sends"}}}})
	in = append(in, answer, &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{found}})
	_, err = ask(t, in, true, search)
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"type": "tool_search", "execution": "client", "description": "finds",
		"parameters": map[string]any{"type": "object", "properties": map[string]any{}}}},
		sentFields(t, server.Requests()[0].Body)["tools"])
	sent := texts(sentInput(t, server.Requests()[1].Body))
	require.JSONEq(t, toolSearchOwn, sent[2])
	require.Equal(t, `{"type":"tool_search_output","call_id":"call_t","execution":"client","status":"completed","tools":[`+
		`{"type":"function","name":"mail","description":"sends","parameters":{"type":"object","properties":{}},"strict":false}]}`,
		sent[3])

	t.Run("by the server", func(t *testing.T) {
		body := mustSendResponses(t, userSays("u"), nil, model.WithDeferredTools([]*schema.ToolInfo{toolOf("mail")}))
		tools := body["tools"].([]any)
		require.Len(t, tools, 2)
		require.Equal(t, true, tools[0].(map[string]any)["defer_loading"])
		require.Equal(t, map[string]any{"type": "tool_search"}, tools[1])
	})
}

// Rule providers/R20
func TestResponsesItems_ApprovalIsAnswered(t *testing.T) {
	docs, _ := scriptOf([]string{thoughtItem1, approvalItem}, []string{mcpCallItem, textItemHi})
	server := kittest.Server(t, kittest.Responses(), docs[0], docs[1])
	ask := newResponsesAsker(t, responsesAt(server.URL, func(c *openai.ResponsesConfig) {
		c.ServerTools = []openai.ServerTool{openai.MCP(openai.MCPParams{ServerLabel: "wiki", ServerURL: "https://w"})}
	}))
	in := userSays("go")
	answer, err := ask(t, in, true)
	require.NoError(t, err)
	yes := schema.NewContentBlock(&schema.MCPToolApprovalResponse{
		ApprovalRequestID: answer.ContentBlocks[1].MCPToolApprovalRequest.ID, Approve: true, Reason: "fine",
	})
	in = append(in, answer, &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{yes}})
	answer, err = ask(t, in, true)
	require.NoError(t, err)
	sent := texts(sentInput(t, server.Requests()[1].Body))
	require.JSONEq(t, approvalItem, sent[2])
	require.Equal(t, `{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true,"reason":"fine"}`, sent[3])
	require.Equal(t, "forty-two", answer.ContentBlocks[1].MCPToolResult.Content)
}
