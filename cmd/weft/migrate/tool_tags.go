package migrate

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// The words of a jsonschema tag, as components/tool/utils has them.
var (
	textKeys = []string{"title", "description"}
	tagKeys  = slices.Concat(textKeys, []string{
		"minLength", "maxLength", "minItems", "maxItems", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "readOnly", "writeOnly", "enum", "default", "example", "pattern", "format", "uniqueItems", "type",
		"anchor", "oneof_required", "anyof_required", "oneof_ref", "anyof_ref", "oneof_type", "anyof_type",
	})
	tagFlags = []string{"required", "nullable"}
)

var inferring = []string{
	"InferTool", "InferOptionableTool", "InferStreamTool", "InferOptionableStreamTool", "InferEnhancedTool",
	"InferOptionableEnhancedTool", "InferEnhancedStreamTool", "InferOptionableEnhancedStreamTool", "GoStruct2ParamsOneOf",
	"GoStruct2ToolInfo",
}

var toolTags = newAnalyzer("tooltags",
	"words of jsonschema tags that Eino ignores and Weft refuses"+"\n\n"+
		"It does not find types that a generic function passes on, as it has none of its own.", "tags-of-tools",
	func(c *check) {
		seen := map[types.Type]bool{}
		c.nodes.Preorder([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node) {
			call := n.(*ast.CallExpr)
			rel, name, ok := c.callee(call)
			if !ok || rel != "components/tool/utils" || !slices.Contains(inferring, name) {
				return
			}
			if args := c.typeArgs(call); args != nil && args.Len() > 0 {
				c.fields(args.At(0), call, seen)
			}
		})
	})

// typeArgs returns the type arguments of a call, written or inferred.
func (c *check) typeArgs(call *ast.CallExpr) *types.TypeList {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	switch x := fun.(type) {
	case *ast.Ident:
		return c.TypesInfo.Instances[x].TypeArgs
	case *ast.SelectorExpr:
		return c.TypesInfo.Instances[x.Sel].TypeArgs
	}
	return nil
}

// fields checks the tags of a type, and of the types that it is made of. A finding is reported at the field, if it is in
// this package, and at the call otherwise.
func (c *check) fields(t types.Type, call ast.Node, seen map[types.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if named, ok := types.Unalias(t).(*types.Named); ok && describesItself(named) {
		return
	}
	switch x := t.Underlying().(type) {
	case *types.Pointer:
		c.fields(x.Elem(), call, seen)
	case *types.Slice:
		c.fields(x.Elem(), call, seen)
	case *types.Array:
		c.fields(x.Elem(), call, seen)
	case *types.Map:
		c.fields(x.Elem(), call, seen)
	case *types.Struct:
		for i := range x.NumFields() {
			c.field(x.Field(i), reflect.StructTag(x.Tag(i)), call, seen)
		}
	}
}

func (c *check) field(f *types.Var, tag reflect.StructTag, call ast.Node, seen map[types.Type]bool) {
	if !f.Exported() || tag.Get("json") == "-" {
		return
	}
	if word, bad := unknownWord(tag.Get("jsonschema")); bad {
		at := call.Pos()
		if f.Pkg() == c.Pkg {
			at = f.Pos()
		}
		c.Reportf(at, "the jsonschema tag of field %s has %q, which Eino ignores: Weft does not make a tool of it (%s#%s)",
			f.Name(), word, guide, c.anchor)
	}
	c.fields(f.Type(), call, seen)
}

// describesItself reports whether a type has a schema of its own, so that its fields do not count.
func describesItself(t *types.Named) bool {
	for _, method := range []string{"JSONSchema", "JSONSchemaAlias", "MarshalJSON", "MarshalText"} {
		if obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, t.Obj().Pkg(), method); obj != nil {
			return true
		}
	}
	return false
}

// unknownWord returns the first word of a tag that Weft refuses. A comma in a text is no end of it, unless what follows
// looks like a key.
func unknownWord(tag string) (word string, bad bool) {
	inText := false
	for i, word := range splitTag(tag) {
		key, _, isPair := strings.Cut(word, "=")
		switch {
		case word == "" || i == 0 && word == "-":
		case isPair && slices.Contains(tagKeys, key), !isPair && slices.Contains(tagFlags, word):
			inText = slices.Contains(textKeys, key)
		case inText && !looksLikeKey(word):
		default:
			return word, true
		}
	}
	return "", false
}

// splitTag splits at commas without a backslash before them.
func splitTag(tag string) (words []string) {
	for word := range strings.SplitSeq(tag, ",") {
		if last := len(words) - 1; last >= 0 && strings.HasSuffix(words[last], `\`) {
			words[last] = strings.TrimSuffix(words[last], `\`) + "," + word
			continue
		}
		words = append(words, word)
	}
	return words
}

func looksLikeKey(word string) bool {
	key, _, isPair := strings.Cut(word, "=")
	trimmed := strings.TrimSpace(key)
	if isPair && slices.Contains(tagKeys, trimmed) || !isPair && slices.Contains(tagFlags, trimmed) {
		return true
	}
	return isPair && key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
