package hookrules_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/dynamictool/toolsearch"
	mwfilesystem "github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/adk/middlewares/plantask"
	"github.com/weftgo/weft/adk/middlewares/skill"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
)

// Callback handlers know the built-in tools by these types, and no schema of theirs allows other arguments.
func TestBuiltInTools_TypesAndClosedSchemas(t *testing.T) {
	ctx := t.Context()
	backend := filesystem.NewInMemoryBackend()
	agent, err := adk.NewChatModelAgent(ctx,
		&adk.ChatModelAgentConfig{Name: "worker", Description: "works", Model: adktest.NewModel(t)})
	require.NoError(t, err)
	tools := []tool.BaseTool{adk.ExitTool{}, adk.NewAgentTool(ctx, agent)}
	files, err := mwfilesystem.New(ctx, &mwfilesystem.MiddlewareConfig{Backend: backend, Shell: noShell{}})
	require.NoError(t, err)
	skills, err := skill.NewMiddleware(ctx, &skill.Config{Backend: noSkills{}})
	require.NoError(t, err)
	tasks, err := plantask.New(ctx, &plantask.Config{Backend: backend, BaseDir: "/tasks"})
	require.NoError(t, err)
	search, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{adktest.NewTool("hidden")}})
	require.NoError(t, err)
	for _, h := range []adk.ChatModelAgentMiddleware{files, skills, tasks, search} {
		_, run, err := h.BeforeAgent(ctx, &adk.ChatModelAgentContext{Tools: []tool.BaseTool{}})
		require.NoError(t, err)
		tools = append(tools, run.Tools...)
	}
	want := map[string]string{
		"exit": "", "worker": "agentTool", "ls": "Ls", "read_file": "ReadFile", "write_file": "WriteFile",
		"edit_file": "EditFile",
		"glob":      "Glob", "grep": "Grep", "execute": "Execute", "skill": "skillTool", "TaskCreate": "taskCreateTool",
		"TaskGet": "taskGetTool", "TaskUpdate": "taskUpdateTool", "TaskList": "taskListTool", "tool_search": "toolSearchTool",
	}
	for _, built := range tools {
		info, err := built.Info(ctx)
		require.NoError(t, err)
		if info.Name == "hidden" {
			continue
		}
		typ, _ := components.GetType(built)
		expected, known := want[info.Name]
		require.True(t, known, info.Name)
		delete(want, info.Name)
		require.Equal(t, expected, typ, info.Name)
		doc, err := info.SchemaJSON()
		require.NoError(t, err)
		require.Contains(t, string(doc), `"additionalProperties":false`, info.Name)
	}
	require.Empty(t, want)
}

type noShell struct{}

func (noShell) Execute(context.Context, *filesystem.ExecuteRequest) (*filesystem.ExecuteResponse, error) {
	return nil, nil
}

type noSkills struct{}

func (noSkills) List(context.Context) ([]skill.FrontMatter, error)       { return nil, nil }
func (noSkills) Get(context.Context, string) (sk skill.Skill, err error) { return sk, nil }
