package model

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/mock/gomock"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

var (
	_ baseChatModel       = (*MockBaseChatModel)(nil)
	_ model.BaseChatModel = (*MockBaseChatModel)(nil)
	//lint:ignore SA1019 the mock is for those who still use it
	_ model.ChatModel            = (*MockChatModel)(nil)
	_ model.ToolCallingChatModel = (*MockToolCallingChatModel)(nil)
)

func TestMocks_OptionsAreVariadic(t *testing.T) {
	m := NewMockBaseChatModel(gomock.NewController(t))
	want := schema.AssistantMessage("x", nil)
	m.EXPECT().Generate(gomock.Any(), gomock.Any()).Return(want, nil)
	got, err := m.Generate(context.Background(), nil)
	require.NoError(t, err)
	require.Same(t, want, got)

	m.EXPECT().Generate(gomock.Any(), gomock.Any(), gomock.Any()).Return(want, nil).Times(2)
	_, err = m.Generate(context.Background(), nil, model.WithTopP(1))
	require.NoError(t, err)
	_, err = m.Generate(context.Background(), nil, model.WithTopP(1), model.WithStop(nil))
	require.NoError(t, err)
}
