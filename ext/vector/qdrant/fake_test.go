package qdrant

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/vector"
)

const testKey = "secret-key"

// A fake is a server that does what the documentation of Qdrant's REST API says, and refuses all else.
type fake struct {
	// mu guards collections.
	mu          sync.Mutex
	collections map[string]*collection
}

type collection struct {
	size   int
	points map[string]point
}

func newFake(t *testing.T) *httptest.Server {
	t.Helper()
	f := &fake{collections: map[string]*collection{}}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*http.Request, string) (any, *refusal){
		"GET /collections/{name}":                f.info,
		"PUT /collections/{name}":                f.create,
		"PUT /collections/{name}/points":         f.upsert,
		"POST /collections/{name}/points/query":  f.query,
		"POST /collections/{name}/points/delete": f.remove,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			status, answer := http.StatusOK, map[string]any{"time": 0.001, "status": "ok"}
			result, refused := handle(r, r.PathValue("name"))
			if r.Header.Get("api-key") != testKey {
				refused = &refusal{http.StatusUnauthorized, "Invalid API key " + r.Header.Get("api-key")}
			}
			if answer["result"] = result; refused != nil {
				status = refused.status
				answer = map[string]any{"time": 0.001, "status": map[string]any{"error": refused.text}}
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(answer)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

type refusal struct {
	status int
	text   string
}

func wrong(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "Wrong input: " + fmt.Sprintf(format, args...)}
}

// read reads a body that must have these fields only.
func read(r *http.Request, body any) *refusal {
	if r.Header.Get("Content-Type") != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, "no JSON"}
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		return &refusal{http.StatusBadRequest, "Format error in JSON body: " + err.Error()}
	}
	return nil
}

func (f *fake) find(name string) (*collection, *refusal) {
	if c := f.collections[name]; c != nil {
		return c, nil
	}
	return nil, &refusal{http.StatusNotFound, "Not found: Collection `" + name + "` doesn't exist!"}
}

func (f *fake) info(r *http.Request, name string) (any, *refusal) {
	c, refused := f.find(name)
	if refused != nil {
		return nil, refused
	}
	vectors := map[string]any{"size": c.size, "distance": "Cosine"}
	return map[string]any{"status": "green", "config": map[string]any{"params": map[string]any{"vectors": vectors}}}, nil
}

func (f *fake) create(r *http.Request, name string) (any, *refusal) {
	var body struct {
		Vectors struct {
			Size     int    `json:"size"`
			Distance string `json:"distance"`
		} `json:"vectors"`
	}
	if refused := read(r, &body); refused != nil {
		return nil, refused
	}
	switch {
	case f.collections[name] != nil:
		return nil, &refusal{http.StatusConflict, "Wrong input: Collection `" + name + "` already exists!"}
	case strings.ContainsAny(name, `<>:"/\|?*`) || len(name) > 255:
		return nil, &refusal{http.StatusUnprocessableEntity, "collection name cannot contain these characters"}
	case body.Vectors.Size < 1 || body.Vectors.Distance != "Cosine":
		return nil, wrong("vectors")
	}
	f.collections[name] = &collection{size: body.Vectors.Size, points: map[string]point{}}
	return true, nil
}

func (f *fake) upsert(r *http.Request, name string) (any, *refusal) {
	var body struct {
		Points []point `json:"points"`
	}
	c, refused := f.find(name)
	if refused == nil {
		refused = read(r, &body)
	}
	if refused == nil && r.URL.RawQuery != "wait=true" {
		refused = wrong("the caller does not wait")
	}
	if refused != nil {
		return nil, refused
	}
	for _, p := range body.Points {
		if _, err := uuid.Parse(p.ID); err != nil {
			return nil, wrong("value %s is not a valid point ID", p.ID)
		}
		if len(p.Vector) != c.size {
			return nil, wrong("Vector dimension error: expected dim: %d, got %d", c.size, len(p.Vector))
		}
	}
	for _, p := range body.Points {
		c.points[p.ID] = p
	}
	return map[string]any{"operation_id": 1, "status": "completed"}, nil
}

func (f *fake) remove(r *http.Request, name string) (any, *refusal) {
	var body struct {
		Points []string `json:"points"`
	}
	c, refused := f.find(name)
	if refused == nil {
		refused = read(r, &body)
	}
	if refused != nil {
		return nil, refused
	}
	for _, id := range body.Points {
		delete(c.points, id)
	}
	return map[string]any{"operation_id": 1, "status": "completed"}, nil
}

func (f *fake) query(r *http.Request, name string) (any, *refusal) {
	var body struct {
		Query       []float32 `json:"query"`
		Limit       int       `json:"limit"`
		WithPayload bool      `json:"with_payload"`
		Filter      clauses   `json:"filter"`
		Params      struct {
			Exact bool `json:"exact"`
		} `json:"params"`
	}
	c, refused := f.find(name)
	if refused == nil {
		refused = read(r, &body)
	}
	if refused == nil && len(body.Query) != c.size {
		refused = wrong("Vector dimension error: expected dim: %d, got %d", c.size, len(body.Query))
	}
	if refused != nil {
		return nil, refused
	}
	top := vector.NewTop[string](body.Limit)
	for id, p := range c.points {
		if body.Filter.hold(p.Payload) {
			top.Offer(id, vector.Dot(body.Query, vector.AppendVector(nil, p.Vector)))
		}
	}
	points := []any{}
	for _, s := range top.Best() {
		points = append(points,
			map[string]any{"id": s.Key, "version": 1, "score": s.Score, "payload": c.points[s.Key].Payload})
	}
	return map[string]any{"points": points}, nil
}

// clauses are a filter of Qdrant's, or one condition in it.
type clauses struct {
	Must    []clauses      `json:"must"`
	MustNot []clauses      `json:"must_not"`
	Should  []clauses      `json:"should"`
	Key     string         `json:"key"`
	Match   map[string]any `json:"match"`
	Range   map[string]any `json:"range"`
}

func (c *clauses) hold(p payload) bool {
	holds := func(c clauses) bool { return c.hold(p) }
	switch {
	case c.Key != "":
		return c.holdsFor(valuesAt(p, c.Key))
	case c.Should != nil:
		return anyOf(c.Should, holds)
	}
	for _, must := range c.Must {
		if !holds(must) {
			return false
		}
	}
	return !anyOf(c.MustNot, holds)
}

func anyOf[T any](all []T, holds func(T) bool) bool {
	for _, one := range all {
		if holds(one) {
			return true
		}
	}
	return false
}

// valuesAt returns the value at a path, or the elements of a list there.
func valuesAt(p payload, path string) []any {
	object, key, _ := strings.Cut(path, ".")
	fields, err := vector.DecodeMetaData(p.MetaData)
	if object == "encoded" {
		data, _ := json.Marshal(p.Encoded)
		fields, err = vector.DecodeMetaData(data)
		if _, malformed := hex.DecodeString(key); malformed != nil {
			return nil
		}
	}
	if err != nil || strings.ContainsAny(key, `."[]`) {
		return nil
	}
	if list, ok := fields[key].([]any); ok {
		return list
	}
	return []any{fields[key]}
}

func (c *clauses) holdsFor(values []any) bool {
	return anyOf(values, func(v any) bool {
		if want, ok := c.Match["value"]; ok {
			return fmt.Sprintf("%T", v) == fmt.Sprintf("%T", want) && v == want || isInteger(v) && asFloat(v) == want
		}
		if !isInteger(v) {
			if _, ok := v.(float64); !ok {
				return false
			}
		}
		for bound, limit := range c.Range {
			x, y := asFloat(v), limit.(float64)
			if !map[string]bool{"lt": x < y, "lte": x <= y, "gt": x > y, "gte": x >= y}[bound] {
				return false
			}
		}
		return len(c.Range) > 0
	})
}

func isInteger(v any) bool {
	_, ok := v.(int64)
	return ok
}

func asFloat(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

// answering is a server that always gives the same answer.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}
