package kittest

import (
	"net/http"
	"slices"
	"strings"
)

// Ollama returns a validator of /api/chat and /api/embed of Ollama.
func Ollama() Validator { return ollama{} }

type ollama struct{}

func (ollama) Refuse(w http.ResponseWriter, faults []Fault) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": describe(faults)})
}

var ollamaOptions = []string{
	"num_ctx", "num_predict", "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "num_keep",
	"num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "repeat_last_n", "repeat_penalty", "presence_penalty",
	"frequency_penalty", "penalize_newline", "tfs_z", "mirostat", "mirostat_eta", "mirostat_tau", "numa", "low_vram",
	"vocab_only", "draft_num_predict", "truncate", "shift",
}

func (ollama) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	root.get("model").required("O2")
	options := root.get("options")
	if options.given() {
		options.object("O2")
	}
	options.only("O2", ollamaOptions...)
	options.get("num_ctx").integer("O2", 1)
	options.get("num_predict").integer("O2", -2)
	options.get("temperature").between("O2", 0, 2)
	if keep := root.get("keep_alive"); keep.given() && !keep.isString() {
		keep.between("O2", -1e9, 1e9)
	}
	switch {
	case strings.HasSuffix(req.URL.Path, "/api/embed"):
		root.only("O2", "model", "input", "truncate", "dimensions", "keep_alive", "options")
		inputs(root.get("input"), "E3", 0)
	case strings.HasSuffix(req.URL.Path, "/api/chat"):
		ollamaChat(root)
	default:
		r.add("url", "HTTP", "the path %s is neither /api/chat nor /api/embed", req.URL.Path)
	}
	return r.faults
}

func ollamaChat(root node) {
	root.only("O2", "model", "messages", "tools", "stream", "format", "think", "keep_alive", "options", "logprobs",
		"top_logprobs", "truncate", "shift")
	root.get("stream").boolean("O2")
	if think := root.get("think"); think.given() && !think.isBool() {
		think.oneOf("O2", "low", "medium", "high", "max")
	}
	if format := root.get("format"); format.given() && !format.isObject() {
		format.oneOf("O2", "json")
	}
	var names []string
	if root.get("tools").exists() {
		for _, tool := range root.get("tools").elements("K10") {
			function := tool.get("function")
			if tool.get("type").text() != "function" || !function.isObject() {
				tool.fault("O2", "must be of type function")
				continue
			}
			function.only("O2", "name", "description", "parameters")
			name := function.get("name")
			if name.required("K11"); slices.Contains(names, name.text()) {
				name.fault("K11", "two tools are named %s", name.text())
			}
			names = append(names, name.text())
			function.get("parameters").toolSchema()
		}
	}
	var open []string // names of the calls without a result
	for _, m := range root.get("messages").elements("K16") {
		open = ollamaMessage(m, open)
	}
	if len(open) > 0 {
		root.get("messages").fault("K16", "%d calls at the end have no result", len(open))
	}
}

// ollamaMessage checks a message and returns the names of the calls that have no result after it.
func ollamaMessage(m node, open []string) []string {
	m.only("O2", "role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id")
	m.get("role").required("O2")
	m.get("role").oneOf("O2", "system", "user", "assistant", "tool")
	if content := m.get("content"); content.given() && !content.isString() {
		content.fault("O2", "must be a string")
	}
	for _, image := range m.get("images").list() {
		image.base64("K17")
	}
	role := m.get("role").text()
	if role == "tool" {
		at := slices.Index(open, m.get("tool_name").required("O2"))
		if at < 0 {
			m.fault("K16", "a result of %s, which no call before awaits", m.get("tool_name").json())
			return open
		}
		return slices.Delete(slices.Clone(open), at, at+1)
	}
	if len(open) > 0 {
		m.fault("K16", "%d calls have no result before the next %s message", len(open), role)
	}
	open = nil
	for _, call := range m.get("tool_calls").list() {
		if role != "assistant" {
			call.fault("O2", "a call in a %s message", role)
		}
		call.get("function").get("arguments").object("K13")
		open = append(open, call.get("function").get("name").required("K11"))
	}
	return open
}
