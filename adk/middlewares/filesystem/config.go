package filesystem

import (
	"errors"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/tool"
)

// The names of the tools, unless a [ToolConfig] says otherwise.
const (
	ToolNameLs        = "ls"
	ToolNameReadFile  = "read_file"
	ToolNameWriteFile = "write_file"
	ToolNameEditFile  = "edit_file"
	ToolNameGlob      = "glob"
	ToolNameGrep      = "grep"
	ToolNameExecute   = "execute"
)

// ToolConfig changes one of the tools. A nil ToolConfig leaves it as it is.
type ToolConfig struct {
	// Name is the name of the tool for the model. Default: the name among the ToolName constants.
	Name string
	// Desc is its description for the model. Default, also for "": the text of this package, in the language of
	// [adk.SetLanguage] at construction.
	Desc *string
	// CustomTool takes the tool's place, as it is: Name and Desc do not count then.
	CustomTool tool.BaseTool
	// Disable leaves the tool out, whatever else is set.
	Disable bool
}

// ExecuteToolConfig changes the tool execute. A nil ExecuteToolConfig leaves it as it is.
type ExecuteToolConfig struct {
	// Name, Desc, CustomTool and Disable are as in [ToolConfig].
	Name       string
	Desc       *string
	CustomTool tool.BaseTool
	Disable    bool
}

// MiddlewareConfig configures [New]. Required is Backend, or one of the shells.
type MiddlewareConfig struct {
	// Backend is the place where the files are. Without one there are no file tools, but those that a CustomTool replaces.
	Backend filesystem.Backend

	// Shell adds the tool execute. At most one of Shell and StreamingShell may be set. What the agent's commands may
	// do is up to the shell.
	Shell filesystem.Shell
	// StreamingShell adds the tool execute, whose output can be seen while the command runs.
	StreamingShell filesystem.StreamingShell

	// One ToolConfig for each tool; nil for the tool as it is.
	LsToolConfig        *ToolConfig
	ReadFileToolConfig  *ToolConfig
	WriteFileToolConfig *ToolConfig
	EditFileToolConfig  *ToolConfig
	GlobToolConfig      *ToolConfig
	GrepToolConfig      *ToolConfig
	ExecuteToolConfig   *ExecuteToolConfig

	// UseMultiModalRead has read_file return images and PDFs as what they are. The backend must be a
	// [filesystem.MultiModalReader] then.
	UseMultiModalRead bool
	// MarkDirectories has ls put a "/" behind the names of directories.
	MarkDirectories bool
	// MarkContextLines has grep write path-line-text for the lines around a match, and path:line:text for the match
	// itself. In multiline searches, where the lines of a match cannot be distinguished from those around it, all are
	// written with colons.
	MarkContextLines bool
	// BackgroundCommands lets the model start commands that continue in the background.
	BackgroundCommands bool

	// CustomSystemPrompt is put behind the agent's instruction. Default: nothing is.
	CustomSystemPrompt *string

	// Descriptions of tools as early versions had them. Desc in the tool's ToolConfig counts before them.
	CustomLsToolDesc        *string
	CustomReadFileToolDesc  *string
	CustomGrepToolDesc      *string
	CustomGlobToolDesc      *string
	CustomWriteFileToolDesc *string
	CustomEditToolDesc      *string
}

// Validate reports what is missing or contradictory. It may be called on nil.
func (c *MiddlewareConfig) Validate() error {
	if c == nil {
		return errNoConfig
	}
	return validate(c.Backend, c.Shell, c.StreamingShell)
}

var errNoConfig = errors.New("config should not be nil")

func validate(backend filesystem.Backend, shell filesystem.Shell, streaming filesystem.StreamingShell) error {
	hasShell, hasStreaming := !typednil.Is(shell), !typednil.Is(streaming)
	switch {
	case typednil.Is(backend) && (backend != nil || !hasShell && !hasStreaming):
		return errors.New("backend should not be nil")
	case hasShell && hasStreaming:
		return errors.New("shell and streaming shell should not be both set")
	case shell != nil && !hasShell:
		return errors.New("shell should not be a nil pointer: leave it out instead")
	case streaming != nil && !hasStreaming:
		return errors.New("streaming shell should not be a nil pointer: leave it out instead")
	}
	return nil
}
