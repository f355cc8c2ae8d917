package nats

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/conversation/conversationtest"
)

// Rule distributed/M16.
func TestConversations_KeepTheRules(t *testing.T) {
	on := startServer(t, false)
	conversationtest.Run(t, func(t *testing.T) conversation.Store {
		s, err := conversation.NewStore(newStore(t, on))
		require.NoError(t, err)
		return s
	})
}
