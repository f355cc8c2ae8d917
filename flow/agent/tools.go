package agent

import (
	"errors"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// ChatModelWithTools returns a model that knows the tools: toolCallingModel with them, or else cm, which is changed
// by that. Without tools the model is returned untouched. It is an error if both models are nil, or if the one that
// is given the tools panics.
func ChatModelWithTools(
	//lint:ignore SA1019 the API still has it
	cm model.ChatModel, toolCallingModel model.ToolCallingChatModel, toolInfos []*schema.ToolInfo,
) (_ model.BaseChatModel, err error) {
	defer safe.Recover(&err)
	switch {
	case toolCallingModel == nil && cm == nil:
		return nil, errors.New("no chat model provided")
	case toolCallingModel == nil && len(toolInfos) == 0:
		return cm, nil
	case toolCallingModel == nil:
		if err := cm.BindTools(toolInfos); err != nil {
			return nil, err
		}
		return cm, nil
	case len(toolInfos) == 0:
		return toolCallingModel, nil
	}
	return toolCallingModel.WithTools(toolInfos)
}
