package filesystem

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Rule batteries/B13.36.
func TestLs_SortsAndMarksDirectories(t *testing.T) {
	c := &MiddlewareConfig{Backend: stored(t, map[string]string{"/b.txt": "", "/a/x": "", "/c.txt": ""})}
	got, err := run(t, c, "ls", `{"path":"/"}`)
	require.NoError(t, err)
	require.Equal(t, "a\nb.txt\nc.txt", got)
	c.MarkDirectories = true
	for _, none := range []string{`{}`, ``, ` `, `null`} {
		got, err = run(t, c, "ls", none)
		require.NoError(t, err)
		require.Equal(t, "a/\nb.txt\nc.txt", got)
	}
	_, err = run(t, c, "ls", `{"path":`)
	require.ErrorContains(t, err, "failed to unmarshal arguments in json, toolName=ls")
	got, err = run(t, c, "ls", `{"path":"/nowhere"}`)
	require.NoError(t, err)
	require.Equal(t, "No files found", got)
}

// Rule batteries/B13.36.
func TestGlob_SortsByName(t *testing.T) {
	c := &MiddlewareConfig{Backend: stored(t, map[string]string{"/d/b.go": "", "/d/a.go": "", "/e/c.go": ""})}
	got, err := run(t, c, "glob", `{"pattern":"**/*.go"}`)
	require.NoError(t, err)
	require.Equal(t, "d/a.go\nd/b.go\ne/c.go", got)
	got, err = run(t, c, "glob", `{"pattern":"*.go","path":"/e"}`)
	require.NoError(t, err)
	require.Equal(t, "c.go", got)
	got, err = run(t, c, "glob", `{"pattern":"*.py"}`)
	require.NoError(t, err)
	require.Equal(t, "No files found", got)
}

// Rule batteries/FT-2.
func TestRead_NumbersTheLines(t *testing.T) {
	c := &MiddlewareConfig{Backend: stored(t, map[string]string{
		"/f": "one\ntwo\nthree", "/empty": "", "/long": strings.Repeat("x\n", 3000)})}
	for _, tt := range []struct{ arguments, want string }{
		{`{"file_path":"/f"}`, "     1\tone\n     2\ttwo\n     3\tthree"},
		{`{"file_path":"/f","offset":2,"limit":1}`, "     2\ttwo"},
		{`{"file_path":"/f","offset":-3,"limit":-1}`, "     1\tone\n     2\ttwo\n     3\tthree"},
		{`{"file_path":"/empty"}`, "There is nothing to read: /empty is empty, or ends before line 1."},
		{`{"file_path":"/f","offset":300}`, "There is nothing to read: /f is empty, or ends before line 300."},
	} {
		got, err := run(t, c, "read_file", tt.arguments)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, tt.arguments)
	}
	got, err := run(t, c, "read_file", `{"file_path":"/long"}`)
	require.NoError(t, err)
	require.Equal(t, 2000, strings.Count(got, "\n")+1)
	require.True(t, strings.HasSuffix(got, "\n  2000\tx"))
}

// silentBackend returns nothing and no error.
type silentBackend struct{ filesystem.Backend }

func (silentBackend) Read(context.Context, *ReadRequest) (*FileContent, error) { return nil, nil }

// Rule batteries/FT-2.
func TestRead_NothingFromTheBackend(t *testing.T) {
	got, err := run(t, &MiddlewareConfig{Backend: silentBackend{}}, "read_file", `{"file_path":"/f"}`)
	require.NoError(t, err)
	require.Equal(t, "No content found at path: /f", got)
}

func TestWriteAndEdit(t *testing.T) {
	b := stored(t, map[string]string{"/f": "a b a"})
	c := &MiddlewareConfig{Backend: b}
	got, err := run(t, c, "write_file", `{"file_path":"/new","content":"<text>"}`)
	require.NoError(t, err)
	require.Equal(t, "Updated file /new", got)
	_, err = run(t, c, "edit_file", `{"file_path":"/f","old_string":"a","new_string":"c"}`)
	require.ErrorContains(t, err, "multiple occurrences")
	got, err = run(t, c, "edit_file", `{"file_path":"/f","old_string":"a","new_string":"c","replace_all":true}`)
	require.NoError(t, err)
	require.Equal(t, "Successfully replaced the string in '/f'", got)
	content, err := b.Read(t.Context(), &ReadRequest{FilePath: "/f"})
	require.NoError(t, err)
	require.Equal(t, "c b c", content.Content)
}

// pictureBackend shows every file as given.
type pictureBackend struct {
	filesystem.Backend
	content *filesystem.MultiFileContent
	asked   []filesystem.MultiModalReadRequest
}

func (b *pictureBackend) MultiModalRead(
	_ context.Context, req *filesystem.MultiModalReadRequest,
) (*filesystem.MultiFileContent, error) {
	b.asked = append(b.asked, *req)
	return b.content, nil
}

// Rule batteries/FT-3.
func TestMultiModalRead_Results(t *testing.T) {
	text := func(s string) *schema.ToolResult { return textResult(s) }
	data := "AQI=" // 1, 2
	for _, c := range []struct {
		name    string
		content *filesystem.MultiFileContent
		want    *schema.ToolResult
		err     string
	}{
		{name: "nothing", want: text("No content found at path: /f")},
		{name: "no content", content: &filesystem.MultiFileContent{}, want: text("No content found at path: /f")},
		{name: "text", content: &filesystem.MultiFileContent{FileContent: &FileContent{Content: "a\nb"}},
			want: text("     1\ta\n     2\tb")},
		{name: "image and pdf", content: &filesystem.MultiFileContent{FileContent: &FileContent{Content: "ignored"},
			Parts: []filesystem.FileContentPart{
				{Type: "image", MIMEType: "image/png", Data: []byte{1, 2}},
				{Type: "pdf", MIMEType: "application/pdf", Data: []byte{1, 2}}}},
			want: &schema.ToolResult{Parts: []schema.ToolOutputPart{
				{Type: "image", Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data,
					MIMEType: "image/png"}}},
				{Type: "file", File: &schema.ToolOutputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data,
					MIMEType: "application/pdf"}}}}}},
		{name: "no data", content: &filesystem.MultiFileContent{Parts: []filesystem.FileContentPart{{Type: "image"}}},
			err: "FileContentPart.Data is empty for type image"},
		{name: "no type",
			content: &filesystem.MultiFileContent{Parts: []filesystem.FileContentPart{{Type: "odd", Data: []byte{1}}}},
			err:     "FileContentPart.MIMEType is empty for type odd"},
		{name: "odd",
			content: &filesystem.MultiFileContent{Parts: []filesystem.FileContentPart{{Type: "odd", MIMEType: "x/y",
				Data: []byte{1}}}}, err: "unsupported FileContentPartType: odd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &pictureBackend{content: c.content}
			read := toolNamed(t, &MiddlewareConfig{Backend: b, UseMultiModalRead: true},
				"read_file").(tool.EnhancedInvokableTool)
			got, err := read.InvokableRun(t.Context(), &schema.ToolArgument{Text: `{"file_path":"/f","pages":"1-20"}`})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t,
				[]filesystem.MultiModalReadRequest{{ReadRequest: ReadRequest{FilePath: "/f", Offset: 1, Limit: 2000},
					Pages: "1-20"}}, b.asked)
		})
	}
}

// Rule batteries/FT-3.
func TestMultiModalRead_Pages(t *testing.T) {
	format := `expected format like "3" or "1-10"`
	for pages, want := range map[string]string{
		"3": "", "900": "", "1-20": "", "5-5": "",
		"1-": format, "-5": format, "0-5": format, "1-0": format, "abc": format, "1-abc": format, "0": format,
		"1-2-3": format, " 1": format,
		"99999999999999999999": format,
		"3-1":                  "end page must be >= start page", "1-21": "range exceeds maximum of 20 pages per request",
	} {
		b := &pictureBackend{content: &filesystem.MultiFileContent{FileContent: &FileContent{Content: "x"}}}
		read := toolNamed(t, &MiddlewareConfig{Backend: b, UseMultiModalRead: true}, "read_file").(tool.EnhancedInvokableTool)
		got, err := read.InvokableRun(t.Context(), &schema.ToolArgument{Text: `{"file_path":"/f","pages":"` + pages + `"}`})
		require.NoError(t, err)
		if want == "" {
			require.Len(t, b.asked, 1, pages)
			continue
		}
		require.Empty(t, b.asked, pages)
		require.Equal(t, textResult(`invalid pages parameter "`+pages+`": `+want), got)
	}
}

// Rule batteries/FT-3.
func TestMultiModalRead_Construction(t *testing.T) {
	memory := filesystem.NewInMemoryBackend()
	_, err := New(t.Context(), &MiddlewareConfig{Backend: memory, UseMultiModalRead: true})
	require.ErrorContains(t, err, "MultiModalReader")
	require.ErrorContains(t, err, "*filesystem.InMemoryBackend")

	read := toolNamed(t, &MiddlewareConfig{Backend: memory}, "read_file")
	require.Implements(t, (*tool.InvokableTool)(nil), read)
	require.NotImplements(t, (*tool.EnhancedInvokableTool)(nil), read)
	read = toolNamed(t, &MiddlewareConfig{Backend: &pictureBackend{}, UseMultiModalRead: true}, "read_file")
	require.Implements(t, (*tool.EnhancedInvokableTool)(nil), read)
	require.Equal(t, ReadFileToolDesc+EnhancedReadFileDescSuffix, infoOf(t, read).Desc)
	require.Contains(t, EnhancedReadFileDescSuffix, "multimodal")
	custom := toolNamed(t, &MiddlewareConfig{Backend: &pictureBackend{}, UseMultiModalRead: true,
		CustomReadFileToolDesc: ptr("mine")}, "read_file")
	require.Equal(t, "mine", infoOf(t, custom).Desc)
}

// Rule batteries/FT-4.
func TestGrep_Request(t *testing.T) {
	for arguments, want := range map[string]GrepRequest{
		`{"pattern":"p","path":"/d","glob":"*.go","type":"go","-i":true,"multiline":true}`: {Pattern: "p", Path: "/d",
			Glob: "*.go", FileType: "go", CaseInsensitive: true, EnableMultiline: true},
		`{"pattern":"p","output_mode":"content","-A":1,"-B":2}`:        {Pattern: "p", AfterLines: 1, BeforeLines: 2},
		`{"pattern":"p","output_mode":"content","-A":1,"-B":2,"-C":3}`: {Pattern: "p", AfterLines: 3, BeforeLines: 3},
		`{"pattern":"p","output_mode":"count","-C":3}`:                 {Pattern: "p"},
	} {
		b := &grepBackend{}
		_, err := run(t, &MiddlewareConfig{Backend: b}, "grep", arguments)
		require.NoError(t, err)
		require.Equal(t, want, b.asked, arguments)
	}
}

// grepBackend finds always the same.
type grepBackend struct {
	filesystem.Backend
	matches []GrepMatch
	asked   GrepRequest
}

func (b *grepBackend) GrepRaw(_ context.Context, req *GrepRequest) ([]GrepMatch, error) {
	b.asked = *req
	return b.matches, nil
}

// Rule batteries/FT-5.
func TestGrep_Output(t *testing.T) {
	three := []GrepMatch{
		{Path: "/z/b.go", Line: 3, Content: "b3"}, {Path: "/a/c.go", Line: 1, Content: "c1"},
		{Path: "/z/b.go", Line: 4, Content: "b4"}, {Path: "/m/a.go", Line: 9, Content: "a9"},
	}
	for _, c := range []struct {
		arguments string
		none      bool
		want      string
	}{
		{arguments: `"output_mode":"content"`, want: "/m/a.go:9:a9\n/z/b.go:3:b3\n/z/b.go:4:b4\n/a/c.go:1:c1"},
		{arguments: `"output_mode":"content","-n":false,"head_limit":1`, want: "/m/a.go:a9"},
		{arguments: `"output_mode":"content","offset":1,"head_limit":2`, want: "/z/b.go:3:b3\n/z/b.go:4:b4"},
		{arguments: `"output_mode":"content","offset":-1,"head_limit":-2`,
			want: "/m/a.go:9:a9\n/z/b.go:3:b3\n/z/b.go:4:b4\n/a/c.go:1:c1"},
		{arguments: `"output_mode":"content","offset":9`, want: "No matches found"},
		{arguments: `"output_mode":"content"`, none: true, want: "No matches found"},
		{arguments: `"output_mode":"files_with_matches"`, want: "Found 3 files\n/m/a.go\n/z/b.go\n/a/c.go"},
		{arguments: `"output_mode":"odd","offset":1,"head_limit":1`, want: "Found 3 files\n/z/b.go"},
		{arguments: `"offset":9`, want: "Found 3 files\n"},
		{arguments: `"head_limit":0`, none: true, want: "No files found"},
		{arguments: `"output_mode":"count"`,
			want: "/a/c.go:1\n/m/a.go:1\n/z/b.go:2\n\nFound 4 total occurrences across 3 files."},
		{arguments: `"output_mode":"count","offset":1,"head_limit":1`,
			want: "/m/a.go:1\n\nFound 4 total occurrences across 3 files."},
		{arguments: `"output_mode":"count"`, none: true,
			want: "No matches found\n\nFound 0 total occurrences across 0 files."},
	} {
		b := &grepBackend{matches: three}
		if c.none {
			b.matches = nil
		}
		got, err := run(t, &MiddlewareConfig{Backend: b}, "grep", `{"pattern":"p",`+c.arguments+`}`)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.arguments)
	}
	got, err := run(t, &MiddlewareConfig{Backend: &grepBackend{matches: three[1:2]}}, "grep",
		`{"pattern":"p","output_mode":"count"}`)
	require.NoError(t, err)
	require.Equal(t, "/a/c.go:1\n\nFound 1 total occurrence across 1 file.", got)
	got, err = run(t, &MiddlewareConfig{Backend: &grepBackend{matches: three[1:2]}}, "grep", `{"pattern":"p"}`)
	require.NoError(t, err)
	require.Equal(t, "Found 1 file\n/a/c.go", got)
}

// Rule batteries/B13.35.
func TestGrep_MarkContextLines(t *testing.T) {
	c := &MiddlewareConfig{Backend: stored(t, map[string]string{"/f": "one\nTWO\nthree"}), MarkContextLines: true}
	got, err := run(t, c, "grep", `{"pattern":"two","-i":true,"-C":1,"output_mode":"content"}`)
	require.NoError(t, err)
	require.Equal(t, "/f-1-one\n/f:2:TWO\n/f-3-three", got)
	got, err = run(t, c, "grep", `{"pattern":"TWO","multiline":true,"-C":1,"output_mode":"content"}`)
	require.NoError(t, err)
	require.Equal(t, "/f:1:one\n/f:2:TWO\n/f:3:three", got)
}

// Rule batteries/FT-6.
func TestExecute_ShowsExitCodeAndTruncation(t *testing.T) {
	for _, c := range []struct {
		response *filesystem.ExecuteResponse
		want     string
	}{
		{nil, ""},
		{&filesystem.ExecuteResponse{Output: "out"}, "out"},
		{&filesystem.ExecuteResponse{Output: "out", ExitCode: ptr(0)}, "out"},
		{&filesystem.ExecuteResponse{}, "[Command executed successfully with no output]"},
		{&filesystem.ExecuteResponse{ExitCode: ptr(2)}, "[Command failed with exit code 2]"},
		{&filesystem.ExecuteResponse{Truncated: true}, "[Output was truncated due to size limits]"},
		{&filesystem.ExecuteResponse{Output: "out", ExitCode: ptr(2), Truncated: true},
			"out\n[Command failed with exit code 2]\n[Output was truncated due to size limits]"},
	} {
		got, err := run(t, &MiddlewareConfig{Shell: &fakeShell{response: c.response}}, "execute", `{"command":"x"}`)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// Rules batteries/B13.38, batteries/FT-7.
func TestExecute_Background(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		shell := &fakeShell{}
		_, err := run(t, &MiddlewareConfig{Shell: shell, BackgroundCommands: allowed}, "execute",
			`{"command":"x","run_in_background":true}`)
		require.NoError(t, err)
		require.Equal(t, []filesystem.ExecuteRequest{{Command: "x", RunInBackendGround: allowed}}, shell.asked)
	}
}

type chunks []*filesystem.ExecuteResponse

func (c chunks) ExecuteStreaming(
	context.Context, *filesystem.ExecuteRequest,
) (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
	return schema.StreamReaderFromArray(c), nil
}

// Rule batteries/FT-7.
func TestExecute_Streaming(t *testing.T) {
	for _, c := range []struct {
		chunks chunks
		want   string
	}{
		{nil, "[Command executed successfully with no output]"},
		{chunks{nil, {Output: ""}, {ExitCode: ptr(0)}}, "[Command executed successfully with no output]"},
		{chunks{{Output: "a"}, nil, {Output: "b", ExitCode: ptr(0)}}, "ab"},
		{chunks{{Output: "a", ExitCode: ptr(1)}, {Output: "b"}}, "ab\n[Command failed with exit code 1]"},
		{chunks{{ExitCode: ptr(1)}, {ExitCode: ptr(0)}}, "[Command executed successfully with no output]"},
		{chunks{{ExitCode: ptr(3)}}, "\n[Command failed with exit code 3]"},
		{chunks{{Output: "a", Truncated: true}}, "a\n[Output was truncated due to size limits]"},
	} {
		got, err := run(t, &MiddlewareConfig{StreamingShell: c.chunks}, "execute", `{"command":"x"}`)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	b := toolNamed(t, &MiddlewareConfig{StreamingShell: chunks{}}, "execute")
	require.Implements(t, (*tool.StreamableTool)(nil), b)
	require.Equal(t, ExecuteToolDesc, infoOf(t, b).Desc)
}

// Rule batteries/FT-7.
func TestExecute_StreamingErrors(t *testing.T) {
	boom := errors.New("boom")
	shell := func(f fakeStreamingShell) tool.StreamableTool {
		return toolNamed(t, &MiddlewareConfig{StreamingShell: f}, "execute").(tool.StreamableTool)
	}
	_, err := shell(func() (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
		return nil, boom
	}).StreamableRun(t.Context(), `{}`)
	require.ErrorIs(t, err, boom)
	_, err = shell(func() (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
		return nil, nil
	}).StreamableRun(t.Context(), `{}`)
	require.ErrorContains(t, err, "neither a stream nor an error")
	_, err = shell(func() (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
		panic(boom)
	}).StreamableRun(t.Context(), `{}`)
	require.ErrorIs(t, err, boom)

	// An error in the stream is the last that comes.
	s, err := shell(func() (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
		r, w := schema.Pipe[*filesystem.ExecuteResponse](8)
		w.Send(&filesystem.ExecuteResponse{Output: "a", ExitCode: ptr(1)}, nil)
		w.Send(nil, boom)
		w.Send(&filesystem.ExecuteResponse{Output: "b"}, nil)
		w.Send(nil, errors.New("another"))
		w.Close()
		return r, nil
	}).StreamableRun(t.Context(), `{}`)
	require.NoError(t, err)
	chunk, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "a", chunk)
	_, err = s.Recv()
	require.ErrorIs(t, err, boom)
	_, err = s.Recv()
	require.Equal(t, io.EOF, err)
	s.Close()
}

// Rules batteries/B13.21, batteries/FT-7.
func TestExecute_ClosingTheResultStopsTheCommand(t *testing.T) {
	r, w := schema.Pipe[*filesystem.ExecuteResponse](0)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer w.Close()
		for !w.Send(&filesystem.ExecuteResponse{Output: "y\n"}, nil) {
		}
	}()
	b := toolNamed(t, &MiddlewareConfig{StreamingShell: fakeStreamingShell(
		func() (*schema.StreamReader[*filesystem.ExecuteResponse], error) { return r, nil })},
		"execute").(tool.StreamableTool)
	s, err := b.StreamableRun(t.Context(), `{"command":"yes"}`)
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err)
	s.Close()
	<-stopped
}
