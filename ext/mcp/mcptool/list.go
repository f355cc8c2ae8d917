package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Bounds of a list.
const (
	mostPages   = 100
	mostSchemas = 1 << 20
	longestTTL  = time.Hour
	mostLists   = 1_000
)

// listCache has the lists of tools as they were last read, by whose they are: see Config.ListOf.
type listCache struct {
	// reading are locks, each for several lists. A call holds one while it reads a list from the server. They are
	// channels, so that waiting can be given up.
	reading [16]chan struct{}
	seed    maphash.Seed
	// mu guards the fields below.
	mu    sync.Mutex
	lists map[string]toolList
	// version counts the notices that the list has changed. A list that was asked for before one is not kept.
	version int
}

// toolList is one list. generation is the connection that it is from, and until when it is too old, zero for never.
type toolList struct {
	tools      []*remoteTool
	generation int
	until      time.Time
}

func (l *toolList) isGood(generation int) bool {
	return l.generation == generation && (l.until.IsZero() || time.Now().Before(l.until))
}

func newListCache() *listCache {
	c := &listCache{seed: maphash.MakeSeed(), lists: map[string]toolList{}}
	for i := range c.reading {
		c.reading[i] = make(chan struct{}, 1)
	}
	return c
}

// lock returns the lock that is held while a list is read.
func (c *listCache) lock(of string) chan struct{} {
	return c.reading[maphash.String(c.seed, of)%uint64(len(c.reading))]
}

// forget has lists read again when they are needed next.
func (c *listCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.lists)
	c.version++
}

// get returns a list if it is good for a connection, and the version to give to put.
func (c *listCache) get(of string, generation int) (tools []*remoteTool, ok bool, version int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.lists[of]
	return l.tools, ok && l.isGood(generation), c.version
}

// put keeps a list. If there are too many, those that are not good any more go, or else one by chance.
func (c *listCache) put(of string, tools []*remoteTool, generation, version int, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != version {
		return
	}
	if _, known := c.lists[of]; !known && len(c.lists) >= mostLists {
		maps.DeleteFunc(c.lists, func(_ string, l toolList) bool { return !l.isGood(generation) })
		for other := range c.lists {
			if len(c.lists) < mostLists {
				break
			}
			delete(c.lists, other)
		}
	}
	l := toolList{tools: tools, generation: generation}
	if ttl > 0 {
		l.until = time.Now().Add(min(ttl, longestTTL))
	}
	c.lists[of] = l
}

// Tools returns the tools of the server, for ToolsConfig: those that the configuration selects. The list is kept as
// long as the server allows, and until it says that it has changed, the connection is made again, or [Server.Refresh].
// The tools themselves can be used until Close, whatever happens to the connection.
func (s *Server) Tools(ctx context.Context) ([]tool.BaseTool, error) {
	tools, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]tool.BaseTool, len(tools))
	for i, t := range tools {
		all[i] = t
	}
	return all, nil
}

// Refresh reads the list of tools from the server: the list of ctx, see Config.ListOf. Other lists are read when they
// are needed next.
func (s *Server) Refresh(ctx context.Context) error {
	s.tools.forget()
	_, err := s.list(ctx)
	return err
}

// Join returns the tools of several servers. Of two with one name the second is left out, which is logged as a [*NameTaken]:
// set a Config.Prefix. With Config.Strict it is an error.
func Join(ctx context.Context, servers ...*Server) ([]tool.BaseTool, error) {
	return join(ctx, map[string]string{}, servers)
}

// join returns the tools of several servers whose names are not taken. names are those that are, by what.
func join(ctx context.Context, names map[string]string, servers []*Server) ([]tool.BaseTool, error) {
	var all []tool.BaseTool
	for _, s := range servers {
		tools, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		if tools, err = free(ctx, tools, names); err != nil {
			return nil, err
		}
		for _, t := range tools {
			all = append(all, t)
		}
	}
	return all, nil
}

// list returns the list, and reads it if it has to be.
func (s *Server) list(ctx context.Context) ([]*remoteTool, error) {
	of, err := s.conf.listOf(ctx)
	if err != nil {
		return nil, s.fail(ctx, List, "", err)
	}
	reading := s.tools.lock(of)
	select {
	case reading <- struct{}{}:
		defer func() { <-reading }()
	case <-ctx.Done():
		return nil, s.fail(ctx, List, "", ctx.Err())
	}
	if tools, ok, _ := s.tools.get(of, s.link.current()); ok {
		return tools, nil
	}
	d := &demand{method: "tools/list", kind: List, repeatable: true}
	return request(ctx, s, d, func(ctx context.Context, made *session) ([]*remoteTool, error) {
		generation := s.link.current()
		_, _, version := s.tools.get(of, generation)
		listed, ttl, err := s.readPages(ctx, made)
		if err != nil {
			return nil, err
		}
		tools, err := s.selected(ctx, listed)
		if err == nil {
			s.tools.put(of, tools, generation, version, ttl)
		}
		return tools, err
	})
}

// readPages reads all pages.
func (s *Server) readPages(ctx context.Context, made *session) (tools []*listedTool, ttl time.Duration, err error) {
	seen := map[string]bool{}
	params := &mcp.ListToolsParams{}
	size := 0
	for range mostPages {
		ctx, raw := withRaw(ctx)
		page, err := made.ListTools(ctx, params)
		if err != nil {
			return nil, 0, err
		}
		beat(ctx)
		pageTTL := time.Duration(page.TTLMs) * time.Millisecond
		if ttl == 0 || pageTTL > 0 && pageTTL < ttl {
			ttl = pageTTL
		}
		page.TTLMs = 0 // this is the SDK's own copy: how long a list is kept is decided here
		for _, t := range listedOf(page.Tools, raw) {
			if tools = append(tools, t); len(tools) > s.conf.MaxTools {
				return nil, 0, s.fail(ctx, TooLarge, "", fmt.Errorf("more than %d tools: see Config.MaxTools", s.conf.MaxTools))
			}
			if size += len(t.input) + len(t.output); size > mostSchemas {
				return nil, 0, s.fail(ctx, TooLarge, "", fmt.Errorf("the schemas have more than %d bytes", mostSchemas))
			}
		}
		if s.isLastPage(ctx, "tools/list", seen, page.NextCursor) {
			made.listed.Store(true)
			return tools, ttl, nil
		}
		seen[page.NextCursor] = true
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, 0, s.fail(ctx, TooLarge, "", fmt.Errorf("more than %d pages", mostPages))
}

// isLastPage reports whether a list ends with the page behind which a cursor is. One that was there before leads nowhere:
// the list is what was read.
func (s *Server) isLastPage(ctx context.Context, method string, seen map[string]bool, cursor string) bool {
	if seen[cursor] {
		s.conf.Logger.WarnContext(ctx, "an MCP server gives the same page of a list again: the list ends there",
			"method", method, "cursor", clean(cutText(cursor, longestMessage)))
	}
	return cursor == "" || seen[cursor]
}

// selected returns the tools of a list that the configuration selects.
func (s *Server) selected(ctx context.Context, listed []*listedTool) ([]*remoteTool, error) {
	var tools []*remoteTool
	matched := make([]bool, len(s.conf.Include))
	for _, t := range listed {
		wanted, err := s.wants(t.Tool, matched)
		if err != nil {
			return nil, err
		}
		if !wanted {
			continue
		}
		made, err := s.newTool(t)
		if err != nil {
			if s.conf.Strict {
				return nil, s.fail(ctx, List, t.Name, err)
			}
			s.conf.Logger.WarnContext(ctx, "a tool of an MCP server is left out", "tool", t.Name, "error", err)
			continue
		}
		tools = append(tools, made)
	}
	tools, taken := s.withoutDoubles(tools)
	if err := s.leftOut(ctx, taken); err != nil {
		return nil, err
	}
	for i, found := range matched {
		if found {
			continue
		}
		if s.conf.Strict {
			return nil, fmt.Errorf("MCP server %q: there is no tool %q, which is in Include", s.conf.Name, s.conf.Include[i])
		}
		s.conf.Logger.WarnContext(ctx, "an MCP server lacks a tool that is included", "tool", s.conf.Include[i])
	}
	if s.conf.Sort {
		slices.SortFunc(tools, func(a, b *remoteTool) int { return strings.Compare(a.info.Name, b.info.Name) })
	}
	return tools, nil
}

// wants reports whether the configuration selects a tool, and notes the patterns of Include that match it.
func (s *Server) wants(t *mcp.Tool, matched []bool) (wanted bool, err error) {
	wanted = len(s.conf.Include) == 0
	for i, pattern := range s.conf.Include {
		if ok, _ := path.Match(pattern, t.Name); ok {
			wanted, matched[i] = true, true
		}
	}
	for _, pattern := range s.conf.Exclude {
		if ok, _ := path.Match(pattern, t.Name); ok {
			wanted = false
		}
	}
	if wanted && s.conf.Filter != nil {
		defer recovered("Filter", &err)
		wanted = s.conf.Filter(t)
	}
	return wanted, err
}

// paramsOf makes the parameters of an input schema, which is checked.
func paramsOf(input json.RawMessage) (*schema.ParamsOneOf, error) {
	var members map[string]json.RawMessage
	switch err := json.Unmarshal(input, &members); {
	case input == nil, err == nil && len(members) == 0:
		input = json.RawMessage(`{"type":"object","properties":{}}`)
	case err != nil:
		return nil, errors.New("the input schema is no object")
	case string(members["type"]) != `"object"`:
		return nil, errors.New("the input schema is not for an object")
	}
	params := schema.NewParamsOneOfByRawJSON(input)
	_, err := params.ToJSONSchema()
	return params, err
}
