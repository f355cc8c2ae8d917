package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func TestOptions_ComposeOptionsAreConcatenated(t *testing.T) {
	require.Nil(t, GetComposeOptions())
	require.Nil(t, GetComposeOptions(AgentOption{}, WrapImplSpecificOptFn(func(*int) {})))
	a, b, c := compose.WithRuntimeMaxSteps(1), compose.WithCheckPointID("x"), compose.WithForceNewRun()
	require.Equal(t, []compose.Option{a, b, c},
		GetComposeOptions(WithComposeOptions(a, b), AgentOption{}, WithComposeOptions(c)))
}

type settings struct{ name string }

func TestOptions_ImplSpecificOptions(t *testing.T) {
	named := func(name string) AgentOption {
		return WrapImplSpecificOptFn(func(s *settings) { s.name = name })
	}
	base := &settings{name: "base"}
	require.Same(t, base, GetImplSpecificOptions(base, WithComposeOptions(),
		WrapImplSpecificOptFn(func(*int) { t.Error("not mine") })))
	require.Equal(t, "base", base.name)
	require.Equal(t, "b", GetImplSpecificOptions[settings](nil, named("a"), named("b")).name)
	require.NotNil(t, GetImplSpecificOptions[settings](nil, WrapImplSpecificOptFn[settings](nil)))
}

// boundModel is a model of either kind that remembers what was bound to it.
type boundModel struct {
	model.BaseChatModel
	tools []*schema.ToolInfo
	err   error
}

func (m *boundModel) BindTools(tools []*schema.ToolInfo) error {
	m.tools = tools
	return m.err
}

type callingModel struct{ boundModel }

func (m *callingModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &callingModel{boundModel{tools: tools}}, m.err
}

// Rule components/F1.
func TestChatModelWithTools_PrefersTheToolCallingModel(t *testing.T) {
	infos := []*schema.ToolInfo{{Name: "a"}}
	boom := errors.New("boom")

	_, err := ChatModelWithTools(nil, nil, infos)
	require.EqualError(t, err, "no chat model provided")

	calling, old := &callingModel{}, &boundModel{}
	m, err := ChatModelWithTools(old, calling, nil)
	require.NoError(t, err)
	require.Same(t, calling, m)

	m, err = ChatModelWithTools(old, calling, infos)
	require.NoError(t, err)
	require.Equal(t, infos, m.(*callingModel).tools)
	require.Nil(t, calling.tools, "the model itself is not touched")
	require.Nil(t, old.tools, "the deprecated model is not used")

	m, err = ChatModelWithTools(old, nil, nil)
	require.NoError(t, err)
	require.Same(t, old, m)
	require.Nil(t, old.tools)
	m, err = ChatModelWithTools(old, nil, infos)
	require.NoError(t, err)
	require.Same(t, old, m)
	require.Equal(t, infos, old.tools)

	_, err = ChatModelWithTools(&boundModel{err: boom}, nil, infos)
	require.ErrorIs(t, err, boom)
	_, err = ChatModelWithTools(nil, &callingModel{boundModel{err: boom}}, infos)
	require.ErrorIs(t, err, boom)
	for _, err := range []error{
		func() error { _, err := ChatModelWithTools(nil, (*callingModel)(nil), infos); return err }(),
		func() error { _, err := ChatModelWithTools((*boundModel)(nil), nil, infos); return err }(),
	} {
		require.ErrorContains(t, err, "panic error: runtime error: invalid memory address")
	}
}
