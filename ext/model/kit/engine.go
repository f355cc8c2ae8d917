package kit

import (
	"context"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Message is either kind of message.
type Message interface {
	*schema.Message | *schema.AgenticMessage
}

// An Engine is a provider's API as an adapter sees it: it sends a conversation and reads the answer, and knows nothing
// of callbacks, of readers that are slow, or of the other kind of message. It must be safe for concurrent use.
type Engine[M Message] interface {
	// Info says who answers. It does not change.
	Info() Info
	// Settings returns what a call runs with: its options over the configuration.
	Settings(opts []model.Option) *Settings
	// Open sends the request and returns the answer as it comes. stream says that the caller reads it before it has
	// ended; if not, the engine may ask for the whole answer at once, and return it as one chunk.
	Open(ctx context.Context, in []M, opts []model.Option, stream bool) (Chunks[M], error)
}

// Chunks is an answer that is being read, by one goroutine.
type Chunks[M Message] interface {
	// Next returns the next chunk and io.EOF behind the last. After an error it is not called again.
	Next() (M, error)
	// Finish is called once Next has returned io.EOF, Close otherwise. Close may be called by any goroutine, and makes
	// a waiting Next return.
	Finish()
	Close()
}

// Info says who answers.
type Info struct {
	// Type is the name of the model for callback handlers and logs: "OpenAI", "Claude", …
	Type string
	// Provider is the name in errors, and System the one that model.HasProvider returns: "openai", "gcp.gemini", …
	Provider, System string
	// Model is the name of the model that calls have unless they name another.
	Model string
	// Host and Port are the server.
	Host string
	Port int
	// Redactor hides the engine's secrets.
	Redactor Redactor
	// RawHook is called for the documents of every answer, nil for none.
	RawHook RawHook
}

// Settings holds the settings of a call.
type Settings struct {
	*model.Options
	// ServerTools are the tools that the provider runs, for callback handlers.
	ServerTools []*schema.ToolInfo

	// info is the info of the engine whose settings they are.
	info *Info
}

// AllTools returns the tools of the call, tools that are loaded later and the provider's included.
func (s *Settings) AllTools() []*schema.ToolInfo {
	if len(s.DeferredTools)+len(s.ServerTools) == 0 && s.ToolSearchTool == nil {
		return s.Tools
	}
	all := slices.Concat(s.Tools, s.DeferredTools, s.ServerTools)
	if s.ToolSearchTool != nil {
		all = append(all, s.ToolSearchTool)
	}
	return all
}
