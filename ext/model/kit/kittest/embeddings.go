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

// GeminiEmbeddings returns a validator of Gemini's embedContent and batchEmbedContents, and of Vertex AI's predict and
// embedContent, whose paths begin with a project.
func GeminiEmbeddings() Validator { return geminiEmbeddings{} }

type geminiEmbeddings struct{}

func (geminiEmbeddings) Refuse(w http.ResponseWriter, faults []Fault) {
	new(GeminiRequests).Refuse(w, faults)
}

var (
	embedPath = regexp.MustCompile(`/models/([^/:]+):(embedContent|batchEmbedContents|predict)$`)
	vertexAt  = regexp.MustCompile(`/projects/[^/]+/locations/[^/]+/publishers/google/models/`)
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
	vertex := vertexAt.MatchString(req.URL.Path)
	if m == nil || (m[2] == "predict") != (vertex && !embedsContent(m[1])) || vertex && m[2] == "batchEmbedContents" {
		r.add("url", "HTTP", "the path %s names no model and method of the service", req.URL.Path)
		return r.faults
	}
	switch {
	case m[2] == "predict":
		predict(root, m[1])
	case vertex:
		root.only("E4", "content", "embedContentConfig")
		embedParts(root)
		root.get("embedContentConfig").only("E4", "taskType", "title", "outputDimensionality", "autoTruncate")
		embedTask(root.get("embedContentConfig"), "taskType")
	case m[2] == "embedContent":
		embedContent(root, m[1])
	default:
		batchEmbed(root, m[1])
	}
	return r.faults
}

// embedsContent reports whether Vertex AI has embedContent for a model, which predict does not know then.
func embedsContent(model string) bool {
	return strings.Contains(model, "gemini") && model != "gemini-embedding-001" || strings.Contains(model, "maas")
}

func batchEmbed(root node, model string) {
	root.only("E4", "requests")
	requests := root.get("requests").elements("E4")
	if len(requests) > 100 {
		root.get("requests").fault("E4", "%d contents; at most 100 are allowed", len(requests))
	}
	for _, request := range requests {
		if request.get("model").text() != "models/"+model {
			request.get("model").fault("E4", "must be models/%s in each request of a batch", model)
		}
		embedContent(request, model)
	}
}

// predict checks the older method of Vertex AI.
func predict(root node, model string) {
	root.only("E4", "instances", "parameters")
	instances, most := root.get("instances").elements("E4"), 250
	if model == "gemini-embedding-001" {
		most = 1
	}
	if len(instances) > most {
		root.get("instances").fault("E4", "%d instances; at most %d are allowed", len(instances), most)
	}
	for _, instance := range instances {
		instance.only("E4", "content", "task_type", "title", "mimeType")
		instance.get("content").required("E3")
		embedTask(instance, "task_type")
	}
	parameters := root.get("parameters")
	parameters.only("E4", "autoTruncate", "outputDimensionality")
	parameters.get("autoTruncate").boolean("E5")
	parameters.get("outputDimensionality").integer("E4", 1)
}

func embedContent(root node, model string) {
	root.only("E4", "model", "content", "taskType", "title", "outputDimensionality", "autoTruncate")
	if name := root.get("model"); name.given() && name.text() != "models/"+model {
		name.fault("E4", "is not models/%s", model)
	}
	embedParts(root)
	embedTask(root, "taskType")
}

func embedParts(root node) {
	for _, part := range root.get("content").get("parts").elements("E4") {
		if part.get("text").exists() {
			part.get("text").required("E3")
		}
	}
}

// embedTask checks what the vectors are for, in the object that says it under the given name.
func embedTask(root node, task string) {
	root.get(task).oneOf("E4", taskTypes...)
	root.get("outputDimensionality").integer("E4", 1)
	root.get("autoTruncate").boolean("E5")
	if root.get("title").given() && root.get(task).text() != "RETRIEVAL_DOCUMENT" {
		root.get("title").fault("E4", "a title is for RETRIEVAL_DOCUMENT only")
	}
}
