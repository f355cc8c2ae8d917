package openai

import (
	"encoding/json"
	"errors"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// fillResponsesSearch fills in the tools that the application found.
func fillResponsesSearch(o *kit.Object, block *schema.ContentBlock) error {
	tools := []any{}
	if search := block.ToolSearchFunctionToolResult; search != nil && search.Result != nil {
		for _, info := range search.Result.Tools {
			if info == nil {
				continue
			}
			tool, err := responsesTool(info)
			if err != nil {
				return err
			}
			tools = append(tools, tool)
		}
	}
	o.Set("type", "tool_search_output")
	o.Set("execution", "client")
	o.Set("status", "completed")
	o.Set("tools", tools)
	return nil
}

// fillResponsesComputer fills in the screenshot after a computer action.
func fillResponsesComputer(o *kit.Object, block *schema.ContentBlock) error {
	var shot kit.Object
	if block.FunctionToolResult != nil {
		for _, p := range block.FunctionToolResult.Content {
			if p == nil || p.Image == nil {
				continue
			}
			image, err := responsesImagePart(p.Image, p.Extra)
			if err != nil {
				return err
			}
			shot = kit.Object{{Key: "type", Value: "computer_screenshot"}}
			for _, key := range [...]string{"file_id", "image_url"} {
				shot.Set(key, image.Get(key))
			}
		}
	}
	if shot == nil {
		return errors.New("the result of a computer action must be an image, the screenshot: it has none")
	}
	o.Set("type", "computer_call_output")
	o.Set("output", shot)
	if checks := kit.ExtraText(block.Extra, SafetyChecksKey); checks != "" {
		o.Set("acknowledged_safety_checks", json.RawMessage(checks))
	}
	return nil
}

// fillResponsesCommand fills in what a patch or a command gave.
func fillResponsesCommand(o *kit.Object, kind string, block *schema.ContentBlock) {
	text, _ := responsesResultText(block)
	failed := kit.IsError(block.Extra)
	o.Set("type", kind+"_output")
	switch kind {
	case "apply_patch_call":
		o.Set("status", "completed")
		if failed {
			o.Set("status", "failed")
		}
		o.Set("output", text)
	case "shell_call":
		var given []json.RawMessage
		if json.Unmarshal([]byte(text), &given) == nil && given != nil {
			o.Set("output", json.RawMessage(text)) // as the API has it
			return
		}
		code := 0
		if failed {
			code = 1
		}
		o.Set("output", []any{kit.Object{
			{Key: "stdout", Value: text}, {Key: "stderr", Value: ""},
			{Key: "outcome", Value: kit.Object{{Key: "type", Value: "exit"}, {Key: "exit_code", Value: code}}},
		}})
	default:
		o.Set("id", o.Get("call_id"))
		o.Set("call_id", nil)
		o.Set("output", text)
	}
}
