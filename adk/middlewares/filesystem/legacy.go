package filesystem

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/compose"
)

// Config configures [NewMiddleware].
type Config struct {
	// Backend and the shells are as in [MiddlewareConfig].
	Backend        filesystem.Backend
	Shell          filesystem.Shell
	StreamingShell filesystem.StreamingShell

	// One ToolConfig for each tool; nil for the tool as it is.
	LsToolConfig        *ToolConfig
	ReadFileToolConfig  *ToolConfig
	WriteFileToolConfig *ToolConfig
	EditFileToolConfig  *ToolConfig
	GlobToolConfig      *ToolConfig
	GrepToolConfig      *ToolConfig

	// WithoutLargeToolResultOffloading leaves large results of tools as they are.
	WithoutLargeToolResultOffloading bool
	// LargeToolResultOffloadingTokenLimit is the size from which on a result is moved into a file, in tokens of four
	// bytes. Default 20000.
	LargeToolResultOffloadingTokenLimit int
	// LargeToolResultOffloadingPathGen says into which file. Default: /large_tool_result/<ID of the call>.
	LargeToolResultOffloadingPathGen func(ctx context.Context, input *compose.ToolInput) (string, error)

	// CustomSystemPrompt is put behind the agent's instruction. Default: nothing is.
	CustomSystemPrompt *string

	// Descriptions of tools. Desc in the tool's ToolConfig counts before them.
	CustomLsToolDesc        *string
	CustomReadFileToolDesc  *string
	CustomGrepToolDesc      *string
	CustomGlobToolDesc      *string
	CustomWriteFileToolDesc *string
	CustomEditToolDesc      *string
}

// Validate reports what is missing or contradictory. It may be called on nil.
func (c *Config) Validate() error {
	if c == nil {
		return errNoConfig
	}
	return validate(c.Backend, c.Shell, c.StreamingShell)
}

// NewMiddleware makes the middleware in the form of early versions: the tools of [New], and large results of all
// tools moved into files of the backend. Without a backend nothing is moved.
//
// Deprecated: use [New], and package reduction for large results.
func NewMiddleware(_ context.Context, config *Config) (adk.AgentMiddleware, error) {
	if err := config.Validate(); err != nil {
		return adk.AgentMiddleware{}, err
	}
	tools, err := newTools(config.current())
	if err != nil {
		return adk.AgentMiddleware{}, err
	}
	m := adk.AgentMiddleware{AdditionalTools: tools}
	if config.CustomSystemPrompt != nil {
		m.AdditionalInstruction = *config.CustomSystemPrompt
	}
	if !config.WithoutLargeToolResultOffloading && config.Backend != nil {
		m.WrapToolCall = newOffloader(config).middleware()
	}
	return m, nil
}

// current is the configuration of the tools in the form of today.
func (c *Config) current() *MiddlewareConfig {
	return &MiddlewareConfig{
		Backend:                 c.Backend,
		Shell:                   c.Shell,
		StreamingShell:          c.StreamingShell,
		LsToolConfig:            c.LsToolConfig,
		ReadFileToolConfig:      c.ReadFileToolConfig,
		WriteFileToolConfig:     c.WriteFileToolConfig,
		EditFileToolConfig:      c.EditFileToolConfig,
		GlobToolConfig:          c.GlobToolConfig,
		GrepToolConfig:          c.GrepToolConfig,
		CustomLsToolDesc:        c.CustomLsToolDesc,
		CustomReadFileToolDesc:  c.CustomReadFileToolDesc,
		CustomGrepToolDesc:      c.CustomGrepToolDesc,
		CustomGlobToolDesc:      c.CustomGlobToolDesc,
		CustomWriteFileToolDesc: c.CustomWriteFileToolDesc,
		CustomEditToolDesc:      c.CustomEditToolDesc,
	}
}
