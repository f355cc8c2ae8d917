package kit

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"strings"

	"github.com/weftgo/weft/catalogue"
)

// Values of Extra that adapters set are strings, which survive every encoding. Chunks are joined by appending them: a
// value is in one chunk only, and lists of JSON objects are written one behind the other.

// ExtraText returns a string of an Extra map, "" if there is none.
func ExtraText(extra map[string]any, key string) string {
	text, _ := extra[key].(string)
	return text
}

// SetExtra sets a string of an Extra map, unless it is empty.
func SetExtra(extra *map[string]any, key, value string) {
	if value == "" {
		return
	}
	if *extra == nil {
		*extra = make(map[string]any)
	}
	(*extra)[key] = value
}

// JoinObjects writes JSON objects one behind the other. What is no object is left out.
func JoinObjects(objects []json.RawMessage) string {
	var b strings.Builder
	for _, o := range objects {
		if bytes.HasPrefix(o, []byte("{")) {
			b.Write(o)
		}
	}
	return b.String()
}

// SplitObjects returns the JSON values that [JoinObjects] has joined.
func SplitObjects(text string) (objects []json.RawMessage) {
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var o json.RawMessage
		if err := dec.Decode(&o); err == io.EOF || err != nil {
			return objects
		}
		objects = append(objects, o)
	}
}

// Keys of the Extra of answers that every adapter uses.
const (
	// UsageCostKey holds the price of the call in US dollars as a decimal number, where the provider says it.
	UsageCostKey = catalogue.ExtraCost
	// ServiceTierKey holds the tier at which the provider served the call.
	ServiceTierKey = catalogue.ExtraServiceTier
	// UsageRawKey holds the provider's own account of the usage as JSON, one object for each request behind the answer.
	UsageRawKey = "usage_raw"
	// DroppedSettingsKey lists the settings that were left out because the model does not take them, as a JSON list.
	DroppedSettingsKey = "dropped_settings"
	// ErrorKey, set to true in the Extra of a tool message or of a tool-result block, says that the tool failed.
	ErrorKey = "is_error"
)

// IsError reports whether the Extra of a tool message or a tool-result block says that the tool failed.
func IsError(extra map[string]any) bool {
	failed, _ := extra[ErrorKey].(bool)
	return failed
}

// Merged returns base with more set in it, and leaves both as they are: for options that add to what the configuration
// has.
func Merged[V any](base, more map[string]V) map[string]V {
	all := make(map[string]V, len(base)+len(more))
	maps.Copy(all, base)
	maps.Copy(all, more)
	return all
}
