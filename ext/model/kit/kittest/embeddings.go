package kittest

import (
	"net/http"
	"regexp"
	"strings"
)

// Embeddings returns a validator of OpenAI's embeddings protocol for a server that takes so many inputs in a request;
// 0: 2,048, as OpenAI's own does.
func Embeddings(limit int) Validator {
	if limit == 0 {
		limit = 2048
	}
	return embeddings{limit}
}

type embeddings struct{ limit int }

func (embeddings) Refuse(w http.ResponseWriter, faults []Fault) {
	refuseAsOpenAI(w, http.StatusBadRequest, faults)
}

func (e embeddings) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	if !strings.HasSuffix(req.URL.Path, "/embeddings") {
		r.add("url", "HTTP", "the path %s does not end in /embeddings", req.URL.Path)
	}
	root.only("E2", "input", "model", "dimensions", "encoding_format", "user")
	if !strings.Contains(req.URL.Path, "/deployments/") {
		root.get("model").required("E2")
	}
	root.get("dimensions").integer("E2", 1)
	root.get("encoding_format").oneOf("E2", "float", "base64")
	inputs(root.get("input"), "E2", e.limit)
	return r.faults
}

// What a service with so many tokens, of at most eight bytes each, cannot take.
const (
	maxInput   = 8 * 8192
	maxRequest = 8 * 300_000
)

// inputs checks a text or a list of texts; limit 0: as many as one likes.
func inputs(input node, rule string, limit int) {
	if input.isString() {
		input.required("E3")
		return
	}
	texts := input.elements(rule)
	total := 0
	for _, text := range texts {
		text.required("E3")
		if len(text.text()) > maxInput {
			text.fault(rule, "%d bytes; no text of that length has few enough tokens", len(text.text()))
		}
		total += len(text.text())
	}
	if limit == 0 {
		return
	}
	if len(texts) > limit {
		input.fault(rule, "%d texts; at most %d are allowed", len(texts), limit)
	}
	if total > maxRequest {
		input.fault(rule, "%d bytes in a request have too many tokens", total)
	}
}

// GeminiEmbeddings returns a validator of Gemini's embedContent and batchEmbedContents.
func GeminiEmbeddings() Validator { return geminiEmbeddings{} }

type geminiEmbeddings struct{}

func (geminiEmbeddings) Refuse(w http.ResponseWriter, faults []Fault) {
	new(GeminiRequests).Refuse(w, faults)
}

var (
	embedPath = regexp.MustCompile(`/models/([^/:]+):(embedContent|batchEmbedContents)$`)
	taskTypes = []string{"RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING",
		"QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY"}
)

func (geminiEmbeddings) Validate(req *http.Request, body []byte) []Fault {
	r := new(report)
	root, ok := parse(r, req, body)
	if !ok {
		return r.faults
	}
	m := embedPath.FindStringSubmatch(req.URL.Path)
	if m == nil {
		r.add("url", "HTTP", "the path %s names no model and method", req.URL.Path)
		return r.faults
	}
	if m[2] == "embedContent" {
		embedContent(root, m[1])
		return r.faults
	}
	root.only("E4", "requests")
	requests := root.get("requests").elements("E4")
	if len(requests) > 100 {
		root.get("requests").fault("E4", "%d contents; at most 100 are allowed", len(requests))
	}
	for _, request := range requests {
		if request.get("model").text() != "models/"+m[1] {
			request.get("model").fault("E4", "must be models/%s in each request of a batch", m[1])
		}
		embedContent(request, m[1])
	}
	return r.faults
}

func embedContent(root node, model string) {
	root.only("E4", "model", "content", "taskType", "title", "outputDimensionality", "autoTruncate")
	if name := root.get("model"); name.given() && name.text() != "models/"+model {
		name.fault("E4", "is not models/%s", model)
	}
	for _, part := range root.get("content").get("parts").elements("E4") {
		if part.get("text").exists() {
			part.get("text").required("E3")
		}
	}
	root.get("taskType").oneOf("E4", taskTypes...)
	root.get("outputDimensionality").integer("E4", 1)
	if root.get("title").given() && root.get("taskType").text() != "RETRIEVAL_DOCUMENT" {
		root.get("title").fault("E4", "a title is for RETRIEVAL_DOCUMENT only")
	}
}
