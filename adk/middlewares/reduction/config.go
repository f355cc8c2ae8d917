package reduction

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/schema"
)

const (
	defaultReadFileToolName  = "read_file"
	defaultRootDir           = "/tmp"
	defaultMaxLengthForTrunc = 50000
	defaultMaxTokensForClear = 160000
	defaultRetentionSuffix   = 1
)

// Backend takes the results that are written out. It must be safe for concurrent use.
type Backend interface {
	Write(context.Context, *filesystem.WriteRequest) error
}

// StreamBackend is a [Backend] that takes a file piece by piece, like the backends of the filesystem packages. The text
// of a tool that streams more than 1 MiB is written to it as it comes, and is not held in memory. Such a stream that
// fails later ends with the notice and the error: what was cut off is in the file.
type StreamBackend interface {
	Backend
	// Create starts a file, instead of one that there may be. Close completes it. ctx ends before Close if the result is
	// not wanted any more, and the file may be discarded.
	Create(ctx context.Context, filePath string) (io.WriteCloser, error)
}

// TypedConfig configures [NewTyped]. Its zero value needs a Backend. Its functions may be called by several runs, and
// by several calls of one, at once.
type TypedConfig[M adk.MessageType] struct {
	// Backend takes the results. Required unless SkipTruncation is set. Without one, cleared results are gone.
	Backend Backend
	// SkipTruncation leaves long results as they are. Tools with a TruncHandler of their own are not affected.
	SkipTruncation bool
	// SkipClear leaves old results as they are. Tools with a ClearHandler of their own are not affected.
	SkipClear bool

	// ReadFileToolName is the tool with which the model is asked to read files. Default read_file.
	ReadFileToolName string
	// RootDir is the directory of the files. Default /tmp. A backend on one directory, such as a local one, needs one
	// below that: results that are too long cannot be saved otherwise.
	RootDir string
	// GenTruncOffloadFilePath says where a long result goes. Default: RootDir/trunc/<ID of the call>, with characters
	// that lead out of it replaced, or a random name if the call has no ID.
	GenTruncOffloadFilePath func(ctx context.Context, toolDetail *ToolDetail) (filePath string, err error)
	// GenClearOffloadFilePath says where an old result goes. Default: as above, in RootDir/clear.
	GenClearOffloadFilePath func(ctx context.Context, toolDetail *ToolDetail) (filePath string, err error)

	// MaxLengthForTrunc is the length of the texts of a result, in bytes, up to which it stays whole. A stream is cut
	// when it reaches the length. Default 50000.
	MaxLengthForTrunc int
	// TruncExcludeTools are never cut, whatever else is configured.
	TruncExcludeTools []string

	// TokenCounter counts the tokens of messages and tools. Default: a fourth of the bytes.
	TokenCounter func(ctx context.Context, msg []M, tools []*schema.ToolInfo) (int64, error)
	// MaxTokensForClear is the number of tokens from which on old results are cleared. Default 160000.
	MaxTokensForClear int64
	// ClearRetentionSuffixLimit is the number of last rounds of tool calls that stay as they are. Default 1.
	ClearRetentionSuffixLimit int
	// ClearAtLeastTokens is the number of tokens that clearing must gain, or else nothing is cleared: it costs the
	// provider's prompt cache. Default 0.
	ClearAtLeastTokens int64
	// ClearExcludeTools are never cleared, whatever else is configured.
	ClearExcludeTools []string
	// ClearMessageRewriter, if set, replaces a message with calls together with its results, before they are cleared.
	// Returning none removes them.
	ClearMessageRewriter func(ctx context.Context, toolCallMsg M,
		toolResponseMsgs []M,
	) (messagesAfterRewrite []M, err error)
	// ClearPostProcess is called when something was cleared. The context that it returns is the turn's.
	ClearPostProcess func(ctx context.Context, state *adk.TypedChatModelAgentState[M]) context.Context

	// ToolConfig has what is different for single tools, by name.
	ToolConfig map[string]*ToolReductionConfig
}

// Config is the configuration for ordinary messages.
//
// Its fields, which are documented at [TypedConfig]:
//
//   - Backend: takes the results that are too long or old
//   - SkipTruncation, SkipClear: leave long or old results as they are
//   - ReadFileToolName: the tool that the model is asked to read files with
//   - RootDir: the directory of the files; default /tmp
//   - GenTruncOffloadFilePath, GenClearOffloadFilePath: say where a long or an old result goes
//   - MaxLengthForTrunc: up to how many bytes a result stays whole; default 50000
//   - TruncExcludeTools, ClearExcludeTools: tools that are left alone
//   - TokenCounter: counts tokens; default: a fourth of the bytes
//   - MaxTokensForClear: from how many tokens on old results are cleared; default 160000
//   - ClearRetentionSuffixLimit: how many of the last rounds stay; default 1
//   - ClearAtLeastTokens: what clearing must gain
//   - ClearMessageRewriter: replaces a message and its results before they are cleared
//   - ClearPostProcess: is called when something was cleared
//   - ToolConfig: what is different for single tools
type Config = TypedConfig[*schema.Message]

// ToolReductionConfig overrides settings for one tool. Where it neither skips nor has a handler, the tool is handled
// as all others are, with Backend if there is one.
type ToolReductionConfig struct {
	// Backend takes the results of the tool. A handler of the tool's own offloads to this one only.
	Backend Backend
	// SkipTruncation leaves long results as they are.
	SkipTruncation bool
	// TruncHandler decides about each result of the tool, long or not. Of a tool that streams it gets the stream: a
	// copy, so reading it takes nothing from the result.
	TruncHandler func(ctx context.Context, detail *ToolDetail) (*TruncResult, error)
	// SkipClear leaves old results as they are.
	SkipClear bool
	// ClearHandler decides about each old result of the tool.
	ClearHandler func(ctx context.Context, detail *ToolDetail) (*ClearResult, error)
}

// ToolDetail is a call of a tool and its result. It is for reading: results are shared.
type ToolDetail struct {
	ToolContext  *adk.ToolContext
	ToolArgument *schema.ToolArgument
	// ToolResult is the result, nil while it streams.
	ToolResult *schema.ToolResult
	// StreamToolResult is the result of a tool that streams, in truncation.
	StreamToolResult *schema.StreamReader[*schema.ToolResult]
}

// TruncResult is a handler's replacement for a new result.
type TruncResult struct {
	// NeedTrunc says that ToolResult, or StreamToolResult for a tool that streams, takes the result's place. Nothing
	// else counts without it.
	NeedTrunc        bool
	ToolResult       *schema.ToolResult
	StreamToolResult *schema.StreamReader[*schema.ToolResult]
	// NeedOffload has OffloadContent written to OffloadFilePath before the call returns.
	NeedOffload     bool
	OffloadFilePath string
	OffloadContent  string
}

// ClearResult is a handler's replacement for an old result.
type ClearResult struct {
	// NeedClear says that ToolArgument and ToolResult take the places of the arguments and the result; nil leaves
	// either as it is.
	NeedClear    bool
	ToolArgument *schema.ToolArgument
	ToolResult   *schema.ToolResult
	// NeedOffload has OffloadContent written to OffloadFilePath.
	NeedOffload     bool
	OffloadFilePath string
	OffloadContent  string
}

// withDefaults checks a configuration and returns a copy with the defaults filled in.
func (c *TypedConfig[M]) withDefaults() (*TypedConfig[M], error) {
	if c == nil {
		return nil, errors.New("config must not be nil")
	}
	own := *c
	if typednil.Is(own.Backend) {
		own.Backend = nil
	}
	if own.Backend == nil && !own.SkipTruncation {
		return nil, errors.New("backend must be set when not skipping truncation")
	}
	orDefault(&own.ReadFileToolName, defaultReadFileToolName)
	orDefault(&own.RootDir, defaultRootDir)
	orDefault(&own.MaxLengthForTrunc, defaultMaxLengthForTrunc)
	orDefault(&own.MaxTokensForClear, defaultMaxTokensForClear)
	orDefault(&own.ClearRetentionSuffixLimit, defaultRetentionSuffix)
	if own.GenTruncOffloadFilePath == nil {
		own.GenTruncOffloadFilePath = filePaths(own.RootDir, "trunc")
	}
	if own.GenClearOffloadFilePath == nil {
		own.GenClearOffloadFilePath = filePaths(own.RootDir, "clear")
	}
	own.TruncExcludeTools = slices.Clone(c.TruncExcludeTools)
	own.ClearExcludeTools = slices.Clone(c.ClearExcludeTools)
	own.ToolConfig = maps.Clone(c.ToolConfig)
	for name, tool := range own.ToolConfig {
		if tool == nil {
			delete(own.ToolConfig, name)
			continue
		}
		copied := *tool
		if typednil.Is(copied.Backend) {
			copied.Backend = nil
		}
		own.ToolConfig[name] = &copied
	}
	return &own, nil
}

func orDefault[T ~int | ~int64 | ~string](value *T, fallback T) {
	var unset T
	if *value <= unset {
		*value = fallback
	}
}
