package deep

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// SessionKeyTodos is the session value with the list that the tool write_todos has written last: a []TODO.
const SessionKeyTodos = "deep_agent_session_key_todos"

// TODO is one thing to do.
type TODO struct {
	// Content says what to do: Run the tests.
	Content string `json:"content"`
	// ActiveForm says it for the time in which it is done: Running the tests.
	ActiveForm string `json:"activeForm"`
	// Status is pending, in_progress or completed.
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed"`
}

func init() {
	schema.RegisterName[TODO]("_eino_adk_prebuilt_deep_todo")
	schema.RegisterName[[]TODO]("_eino_adk_prebuilt_deep_todo_slice")
}

// todosTool lets the model keep a list.
type todosTool struct{ info schema.ToolInfo }

func newTodosTool() tool.InvokableTool {
	return &todosTool{schema.ToolInfo{
		Name: "write_todos",
		Desc: language.Select(todosDesc, todosDescChinese),
		ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
			"todos": {
				Type:     schema.Array,
				Desc:     language.Select("the whole list, as it is to be from now on", "更新后的完整待办列表"),
				Required: true,
				ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: map[string]*schema.ParameterInfo{
					"content": {Type: schema.String, Required: true,
						Desc: language.Select("what is to be done, as an order: Run the tests", "要做的事，用祈使句：运行测试")},
					"activeForm": {Type: schema.String, Required: true,
						Desc: language.Select("the same while it is done: Running the tests", "进行中的表述：正在运行测试")},
					"status": {Type: schema.String, Required: true, Enum: []string{"pending", "in_progress", "completed"}},
				}},
			},
		}),
	}}
}

// GetType returns "WriteTodos".
func (t *todosTool) GetType() string { return "WriteTodos" }

// Info describes the tool.
func (t *todosTool) Info(context.Context) (*schema.ToolInfo, error) {
	info := t.info
	return &info, nil
}

// Idempotent reports true: each call brings the whole list.
func (t *todosTool) Idempotent() bool { return true }

// InvokableRun keeps the list in the session.
func (t *todosTool) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	type todos struct {
		Todos []TODO `json:"todos"`
	}
	arguments, err := utils.DecodeArguments[todos](ctx, &t.info, argumentsInJSON, false)
	if err != nil {
		return "", fmt.Errorf("arguments of write_todos: %w", err)
	}
	if arguments.Todos == nil {
		arguments.Todos = []TODO{}
	}
	adk.AddSessionValue(ctx, SessionKeyTodos, arguments.Todos)
	list, err := json.MarshalString(arguments.Todos)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(language.Select("Updated todo list to %s", "已更新待办列表为 %s"), list), nil
}
