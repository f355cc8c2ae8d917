package tool

import "github.com/weftgo/weft/schema"

// OriginKey is the key in ToolInfo.Extra under which a tool that comes from outside of the program says where it is from,
// as a text: tools of MCP servers have "mcp:" and the name of the server. Another tool may have its name another time;
// approvals hold for the origin, too.
const OriginKey = "origin"

// OriginOf returns where a tool is from, "" for one of the program itself. Middlewares call it to tell tools of one name apart.
func OriginOf(info *schema.ToolInfo) string {
	if info == nil {
		return ""
	}
	origin, _ := info.Extra[OriginKey].(string)
	return origin
}
