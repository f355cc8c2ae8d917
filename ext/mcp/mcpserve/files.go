package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk/filesystem"
)

// mostFiles limits how many files of a backend are listed. All of them can be read.
const mostFiles = 1_000

// FilesOptions say which files are served.
type FilesOptions struct {
	// Name begins the addresses: files://NAME/path. It has lower-case letters, digits and hyphens. Required.
	Name string
	// Backend has the files. Required.
	Backend filesystem.Backend
	// Root is the directory below which files are served. Default: all of them.
	Root string
}

var goodHost = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// files are the files of a backend, for reading.
type files struct {
	FilesOptions
	server *Server
	prefix string
}

// AddFiles serves the files of a backend as resources, for reading only. They are listed as they are when a client
// asks, at most 1,000 of them. Text over Config.MaxText and media over Config.MaxMedia cannot be read.
func (s *Server) AddFiles(o FilesOptions) error {
	switch {
	case !goodHost.MatchString(o.Name):
		return fmt.Errorf("mcpserve: server %q: files %q: a name has lower-case letters, digits and hyphens",
			s.conf.Name, o.Name)
	case o.Backend == nil:
		return fmt.Errorf("mcpserve: server %q: files %q: the backend is nil", s.conf.Name, o.Name)
	}
	o.Root = path.Clean("/" + o.Root)
	f := &files{FilesOptions: o, server: s, prefix: "files://" + o.Name + "/"}
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{Name: o.Name, URITemplate: f.prefix + "{+path}"}, f.read)
	s.mcp.AddReceivingMiddleware(f.listing)
	return nil
}

// listing adds the files to the last page of the list of resources.
func (f *files) listing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		page, isList := result.(*mcp.ListResourcesResult)
		if err != nil || !isList || page.NextCursor != "" {
			return result, err
		}
		found, err := f.list(ctx)
		if err != nil {
			return nil, f.fail(ctx, err)
		}
		own := *page
		own.Resources = slices.Concat(page.Resources, found)
		return &own, nil
	}
}

func (f *files) list(ctx context.Context) (resources []*mcp.Resource, err error) {
	defer recovered(&err)
	found, err := f.Backend.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "**", Path: f.Root})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b filesystem.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	if len(found) > mostFiles {
		f.server.conf.Logger.WarnContext(ctx, "not all files are listed over MCP", "files", f.Name, "count", len(found))
		found = found[:mostFiles]
	}
	for _, info := range found {
		file := strings.TrimPrefix(info.Path, "/")
		address := url.URL{Path: file}
		resources = append(resources, &mcp.Resource{URI: f.prefix + strings.TrimPrefix(address.EscapedPath(), "./"),
			Name: path.Base(file), MIMEType: typeOf(file), Size: info.Size})
	}
	return resources, nil
}

// read answers a client that reads one.
func (f *files) read(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	file, ok := f.fileOf(r.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	contents, err := f.contents(ctx, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	case errors.Is(err, errTooLarge):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case err != nil:
		return nil, f.fail(ctx, err)
	}
	for _, c := range contents {
		c.URI = r.Params.URI
	}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

// fileOf is the file of an address, if the address is the one way to write it: nothing leads out of the root.
func (f *files) fileOf(address string) (file string, ok bool) {
	escaped, mine := strings.CutPrefix(address, f.prefix)
	rest, err := url.PathUnescape(escaped)
	if !mine || err != nil || rest == "" || strings.ContainsAny(rest, "\x00\\") || path.Clean("/"+rest) != "/"+rest {
		return "", false
	}
	return path.Join(f.Root, rest), true
}

// errTooLarge is the error that clients read about files that are over a limit.
var errTooLarge = errors.New("the file is too large")

func (f *files) contents(ctx context.Context, file string) (contents []*mcp.ResourceContents, err error) {
	defer recovered(&err)
	var content *filesystem.FileContent
	if b, shows := f.Backend.(filesystem.MultiModalReader); shows {
		read, err := b.MultiModalRead(ctx,
			&filesystem.MultiModalReadRequest{ReadRequest: filesystem.ReadRequest{FilePath: file}})
		if err != nil {
			return nil, err
		}
		size := 0
		for _, p := range read.Parts {
			if size += len(p.Data); size > f.server.conf.MaxMedia {
				return nil, errTooLarge
			}
			contents = append(contents, &mcp.ResourceContents{MIMEType: p.MIMEType, Blob: p.Data})
		}
		if len(contents) > 0 {
			return contents, nil
		}
		content = read.FileContent
	} else if content, err = f.Backend.Read(ctx, &filesystem.ReadRequest{FilePath: file}); err != nil {
		return nil, err
	}
	one := &mcp.ResourceContents{MIMEType: typeOf(file)}
	switch {
	case content == nil:
	case !utf8.ValidString(content.Content):
		if len(content.Content) > f.server.conf.MaxMedia {
			return nil, errTooLarge
		}
		one.Blob = []byte(content.Content)
	case len(content.Content) > f.server.conf.MaxText:
		return nil, errTooLarge
	default:
		one.Text = content.Content
	}
	return []*mcp.ResourceContents{one}, nil
}

// fail returns the error that a client reads for err.
func (f *files) fail(ctx context.Context, err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: f.server.publicText(ctx, "files", f.Name, err)}
}

// typeOf is the MIME type of a file by its name.
func typeOf(file string) string {
	if t := mime.TypeByExtension(path.Ext(file)); t != "" {
		return t
	}
	return "text/plain"
}

// recovered makes an error of a panic. It must be deferred directly.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
