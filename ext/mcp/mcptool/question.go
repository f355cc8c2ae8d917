package mcptool

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (t *remoteTool) call(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	return t.server.callTool(ctx, t, mcp.CallToolParams{Name: t.raw, Arguments: arguments})
}

type Input struct{}
type Answer struct{}
type Sampling struct{}

func (*Sampling) check() error                          { return nil }
func (s *Server) capabilities() *mcp.ClientCapabilities { return &mcp.ClientCapabilities{} }
func (s *Server) addHandlers(*mcp.ClientOptions)        {}
