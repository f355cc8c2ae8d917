package filesystem

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	noticeTruncated = "[Output was truncated due to size limits]"
	noticeNoOutput  = "[Command executed successfully with no output]"
)

func noticeFailed(exitCode int) string {
	return fmt.Sprintf("[Command failed with exit code %d]", exitCode)
}

type executeArguments struct {
	Command string `json:"command"`
	// Background counts only if the configuration allows it.
	Background bool `json:"run_in_background"`
}

func executeSlot(c *MiddlewareConfig) slot {
	s := slot{
		name:   ToolNameExecute,
		desc:   language.Select(ExecuteToolDesc, ExecuteToolDescChinese),
		config: (*ToolConfig)(c.ExecuteToolConfig),
		params: map[string]*schema.ParameterInfo{
			"command": required(schema.String,
				"Command line for the shell.",
				"要在 shell 中执行的命令。"),
		},
	}
	if c.BackgroundCommands {
		s.params["run_in_background"] = param(schema.Boolean,
			"Start the command and do not wait for it (default false). Its output is not returned.",
			"启动命令而不等待其结束（默认 false）。不返回其输出。")
	}
	request := func(in *executeArguments) *filesystem.ExecuteRequest {
		return &filesystem.ExecuteRequest{Command: in.Command, RunInBackendGround: in.Background && c.BackgroundCommands}
	}
	switch {
	case c.StreamingShell != nil:
		s.build = func(info *schema.ToolInfo) tool.BaseTool {
			return utils.NewStreamTool(info,
				func(ctx context.Context, in executeArguments) (*schema.StreamReader[string], error) {
					output, err := c.StreamingShell.ExecuteStreaming(ctx, request(&in))
					if err != nil || output == nil {
						return nil, err
					}
					return new(commandOutput).follow(output), nil
				})
		}
	case c.Shell != nil:
		s.build = invokable(func(ctx context.Context, in executeArguments) (string, error) {
			response, err := c.Shell.Execute(ctx, request(&in))
			if err != nil {
				return "", err
			}
			return renderResponse(response), nil
		})
	}
	return s
}

// renderResponse returns what the model reads of a command that has ended.
func renderResponse(r *filesystem.ExecuteResponse) string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.Output != "" {
		parts = append(parts, r.Output)
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		parts = append(parts, noticeFailed(*r.ExitCode))
	}
	if r.Truncated {
		parts = append(parts, noticeTruncated)
	}
	if len(parts) == 0 {
		return noticeNoOutput
	}
	return strings.Join(parts, "\n")
}

// A commandOutput follows the output of one command and says in the end what became of it.
type commandOutput struct {
	exitCode int
	shown    bool // something was sent
	broken   bool // the stream failed, so nothing more is said
}

// follow turns the output into what the model reads. It runs where the reader reads: closing the reader closes the
// command's stream.
func (c *commandOutput) follow(output *schema.StreamReader[*filesystem.ExecuteResponse]) *schema.StreamReader[string] {
	return schema.StreamReaderWithConvert(output, c.chunk, schema.WithOnEOF(c.end),
		schema.WithErrWrapper(func(err error) error {
			if c.broken {
				return nil
			}
			c.broken = true
			return err
		}))
}

func (c *commandOutput) chunk(r *filesystem.ExecuteResponse) (string, error) {
	if r == nil || c.broken {
		return "", schema.ErrNoValue
	}
	if r.ExitCode != nil {
		c.exitCode = *r.ExitCode
	}
	text := r.Output
	if r.Truncated {
		if text != "" {
			text += "\n"
		}
		text += noticeTruncated
	}
	if text == "" {
		return "", schema.ErrNoValue
	}
	c.shown = true
	return text, nil
}

func (c *commandOutput) end() (any, error) {
	switch {
	case c.broken:
		return nil, io.EOF
	case c.exitCode != 0:
		return "\n" + noticeFailed(c.exitCode), nil
	case !c.shown:
		return noticeNoOutput, nil
	}
	return nil, io.EOF
}
