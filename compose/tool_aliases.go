package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftgo/weft/schema"
)

// ToolAliasConfig gives a tool more names, for models that do not hit the right one.
type ToolAliasConfig struct {
	// NameAliases are more names for the tool.
	NameAliases []string
	// ArgumentsAliases are more names for its top-level arguments, by the name that the tool knows.
	ArgumentsAliases map[string][]string
}

// addAliases adds the aliases of the tools that are there; entries for others are ignored.
func (tt *toolTable) addAliases(aliases map[string]ToolAliasConfig, infos map[string]*schema.ToolInfo) error {
	owners := map[string]string{}
	for _, name := range sortedKeys(aliases) {
		b, ok := tt.byName[name]
		if !ok {
			continue
		}
		conf := aliases[name]
		for _, alias := range conf.NameAliases {
			switch owner := owners[alias]; {
			case alias == "":
				return fmt.Errorf("tool '%s' has empty name alias", name)
			case alias == name:
				continue
			case infos[alias] != nil:
				return fmt.Errorf("tool '%s': name alias '%s' conflicts with existing tool's canonical name", name, alias)
			case owner != "" && owner != name:
				return fmt.Errorf("tool '%s': name alias '%s' conflicts with an alias already registered for tool '%s'", name,
					alias, owner)
			}
			owners[alias] = name
		}
		arguments, err := argumentAliases(name, conf.ArgumentsAliases, infos[name])
		if err != nil {
			return err
		}
		bound := *b
		bound.arguments = arguments
		tt.byName[name] = &bound
	}
	for alias, name := range owners {
		tt.byName[alias] = tt.byName[name]
	}
	return nil
}

// argumentAliases turns the configuration around: the tool's own name by alias.
func argumentAliases(name string, conf map[string][]string, info *schema.ToolInfo) (map[string]string, error) {
	if len(conf) == 0 {
		return nil, nil
	}
	properties, err := topLevelProperties(info)
	if err != nil {
		return nil, fmt.Errorf("tool '%s': %w", name, err)
	}
	canonicals := make(map[string]string)
	for _, key := range sortedKeys(conf) {
		if key == "" {
			return nil, fmt.Errorf("tool '%s' has empty canonical argument key", name)
		}
		if strings.Contains(key, ".") {
			return nil, fmt.Errorf("tool '%s' has unsupported '.' in canonical argument key '%s': nested field matching is not yet supported", name, key)
		}
		for _, alias := range conf[key] {
			other, taken := canonicals[alias]
			switch {
			case alias == "":
				return nil, fmt.Errorf("tool '%s' has empty argument alias for canonical key '%s'", name, key)
			case alias == key:
				continue
			case properties[alias]:
				return nil, fmt.Errorf("tool '%s' has arg alias '%s' that conflicts with existing schema property '%s'", name,
					alias, alias)
			case taken && other != key:
				return nil, fmt.Errorf("tool '%s' has conflicting arg alias '%s' mapped to both '%s' and '%s'", name, alias, other,
					key)
			}
			canonicals[alias] = key
		}
	}
	return canonicals, nil
}

func topLevelProperties(info *schema.ToolInfo) (map[string]bool, error) {
	if info == nil || info.ParamsOneOf == nil {
		return nil, nil
	}
	s, err := info.ToJSONSchema()
	if err != nil || s == nil || s.Properties == nil {
		return nil, err
	}
	names := map[string]bool{}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		names[p.Key] = true
	}
	return names, nil
}

// renameArguments replaces top-level aliases in a JSON object by the names that the tool knows. An alias stays if its
// name is there, too. Anything else than an object, and an object without an alias, is returned as it is.
func renameArguments(arguments string, aliases map[string]string) string {
	if len(aliases) == 0 || arguments == "" {
		return arguments
	}
	members, ok := objectMembers(arguments)
	if !ok {
		return arguments
	}
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.key] = true
	}
	renamed := false
	for i := range members {
		m := &members[i]
		if name, isAlias := aliases[m.key]; isAlias && !present[name] {
			m.key, renamed = name, true
			present[name] = true
		}
	}
	if !renamed {
		return arguments
	}
	var sb strings.Builder
	sb.Grow(len(arguments) + 16)
	for i, m := range members {
		sb.WriteByte("{,"[min(i, 1)])
		key, err := json.Marshal(m.key)
		if err != nil {
			return arguments
		}
		sb.Write(key)
		sb.WriteByte(':')
		sb.Write(m.value)
	}
	sb.WriteByte('}')
	return sb.String()
}

type objectMember struct {
	key   string
	value json.RawMessage
}

// objectMembers reads a JSON object without touching its values.
func objectMembers(text string) ([]objectMember, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var members []objectMember
	for d.More() {
		t, err := d.Token()
		key, isString := t.(string)
		if err != nil || !isString {
			return nil, false
		}
		m := objectMember{key: key}
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		m.value = bytes.TrimSpace(m.value)
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	if d.More() {
		return nil, false
	}
	return members, true
}

// sameAliases reports whether both mean the same aliases; nil, which stands for others, is the same as nil only.
func sameAliases(a, b map[string]ToolAliasConfig) bool {
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, func(x, y ToolAliasConfig) bool {
		return slices.Equal(x.NameAliases, y.NameAliases) && maps.EqualFunc(x.ArgumentsAliases, y.ArgumentsAliases,
			slices.Equal[[]string])
	})
}

// cloneAliases copies all that a caller might change.
func cloneAliases(aliases map[string]ToolAliasConfig) map[string]ToolAliasConfig {
	clones := maps.Clone(aliases)
	for name, conf := range clones {
		clone := ToolAliasConfig{NameAliases: slices.Clone(conf.NameAliases),
			ArgumentsAliases: maps.Clone(conf.ArgumentsAliases)}
		for key, names := range clone.ArgumentsAliases {
			clone.ArgumentsAliases[key] = slices.Clone(names)
		}
		clones[name] = clone
	}
	return clones
}
