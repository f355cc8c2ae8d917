package structured

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/jsonschemacheck"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/wholenumber"
	"github.com/weftgo/weft/schema"
)

// Mode says how the model learns of the value that is wanted.
type Mode uint8

// The modes.
const (
	// Tool: the model calls a tool with the value as its arguments. It works with every model that can call tools.
	Tool Mode = iota
	// Native: the provider makes the model keep to the schema. It takes [Config.NativeOptions].
	Native
	// Prompt: the model reads the schema in its prompt, and answers with JSON.
	Prompt
)

const (
	defaultName       = "final_answer"
	defaultMaxRepairs = 2
	// wrapped is the property that has the value where a schema must be one of an object.
	wrapped = "result"
)

// Config configures [New]. nil stands for one without settings.
type Config[T any] struct {
	// Mode selects the way in which the model is given the schema. Default: Tool.
	Mode Mode
	// Name is the name of the tool, and of the value. Default: final_answer.
	Name string
	// Description explains to the model what the value is for.
	Description string
	// NativeOptions makes the options with which a provider is given the schema. Required for Native.
	NativeOptions func(s *jsonschema.Schema) []model.Option
	// Check says what the schema cannot. The model is shown its error. Several runs may call it at once.
	Check func(ctx context.Context, value T) error
	// MaxRepairs is the number of times that an answer that does not fit is sent back. Default, for nil: 2.
	MaxRepairs *int
}

// Output is a kind of value that agents end with. It is safe for concurrent use, by any number of agents.
type Output[T any] struct {
	conf    Config[T]
	schema  *jsonschema.Schema
	checker *jsonschemacheck.Checker
	text    string
	wraps   bool
	info    *schema.ToolInfo
	options []model.Option
	tool    *answerTool[T]
}

// New describes T. It fails if T has no schema (it contains itself, a channel or a function), for a mode that there is
// not, for Native without NativeOptions, and for a negative MaxRepairs.
func New[T any](config *Config[T]) (*Output[T], error) {
	return newOutput(config, (*Output[T]).describe)
}

// Of describes the values of a JSON schema that is known only when the program runs, such as the schema of a client: of
// any draft, as [schema.NewParamsOneOfByRawJSON] takes it. A value is the JSON text. It fails as New does, for a schema
// that cannot be read, and in mode Tool for one that is not of an object.
func Of(schemaJSON json.RawMessage, config *Config[json.RawMessage]) (*Output[json.RawMessage], error) {
	return newOutput(config, func(o *Output[json.RawMessage]) error {
		params := schema.NewParamsOneOfByRawJSON(schemaJSON)
		text, err := params.SchemaJSON()
		if err != nil {
			return err
		}
		if o.schema, err = params.ToJSONSchema(); err == nil && o.schema == nil {
			err = errors.New("there is no schema")
		}
		if err == nil && o.conf.Mode == Tool && o.schema.Type != "object" {
			err = errors.New("the schema is not one of an object, which mode Tool needs")
		}
		if err != nil {
			return err
		}
		o.ready(string(text), params)
		return nil
	})
}

// newOutput makes an output whose schema describe sets.
func newOutput[T any](config *Config[T], describe func(o *Output[T]) error) (o *Output[T], err error) {
	defer safe.Recover(&err)
	o = &Output[T]{}
	if config != nil {
		o.conf = *config
	}
	if o.conf.Name == "" {
		o.conf.Name = defaultName
	}
	if o.conf.Mode > Prompt {
		return nil, fmt.Errorf("structured: there is no mode %d", o.conf.Mode)
	}
	if o.conf.Mode == Native && o.conf.NativeOptions == nil {
		return nil, errors.New("structured: mode Native needs NativeOptions, which give the schema to the provider")
	}
	if o.conf.MaxRepairs != nil && *o.conf.MaxRepairs < 0 {
		return nil, errors.New("structured: MaxRepairs must not be negative")
	}
	if err := describe(o); err != nil {
		return nil, fmt.Errorf("structured: %w", err)
	}
	if o.conf.Mode == Native {
		o.options = o.conf.NativeOptions(o.schema)
	}
	o.tool = &answerTool[T]{o}
	return o, nil
}

// describe infers the schema.
func (o *Output[T]) describe() (err error) {
	if o.schema, err = inferred[T](); err != nil {
		return err
	}
	if o.schema.Type != "object" {
		// Arguments of tools, and what providers take, are objects.
		o.wraps = true
		if o.schema, err = inferred[struct {
			Result T `json:"result"`
		}](); err != nil {
			return err
		}
	}
	doc, err := json.Marshal(o.schema)
	if err != nil {
		return err
	}
	o.ready(string(doc), schema.NewParamsOneOfByJSONSchema(o.schema))
	return nil
}

// ready makes what follows from the schema, its text, and what a tool is given of it.
func (o *Output[T]) ready(text string, params *schema.ParamsOneOf) {
	o.text, o.checker = text, jsonschemacheck.New(o.schema)
	o.info = &schema.ToolInfo{Name: o.conf.Name, Desc: o.conf.Description, ParamsOneOf: params}
}

func inferred[T any]() (*jsonschema.Schema, error) {
	params, err := utils.GoStruct2ParamsOneOf[T]()
	if err != nil {
		return nil, err
	}
	return params.ToJSONSchema()
}

// Schema returns the schema for the model. It is for reading. A type that is no object is the property "result" of one.
func (o *Output[T]) Schema() *jsonschema.Schema { return o.schema }

// InvalidError says why a text is not the value that is wanted.
type InvalidError struct {
	// Text is the text, Problems what is wrong with it.
	Text     string
	Problems []string
}

// Error lists the problems.
func (e *InvalidError) Error() string {
	return "structured: the answer is not valid: " + strings.Join(e.Problems, "; ")
}

// Parse takes the value out of a text: the text as a whole, or the JSON in it. It fails with an [*InvalidError].
func (o *Output[T]) Parse(ctx context.Context, text string) (value T, err error) {
	raw, generic, err := decode(text)
	if err != nil {
		return value, o.invalid(text, "it is no JSON: "+err.Error())
	}
	if o.wraps {
		if object, ok := generic.(map[string]any); !ok || len(object) != 1 || !has(object, wrapped) {
			raw, generic = []byte(`{"`+wrapped+`":`+string(raw)+`}`), map[string]any{wrapped: generic}
		}
	}
	if problems := o.checker.Check(generic); len(problems) > 0 {
		return value, o.invalid(text, problems...)
	}
	if err := o.unmarshal(raw, &value); err != nil {
		return value, o.invalid(text, err.Error())
	}
	if o.conf.Check != nil {
		if err := o.check(ctx, value); err != nil {
			return value, o.invalid(text, err.Error())
		}
	}
	return value, nil
}

func (o *Output[T]) check(ctx context.Context, value T) (err error) {
	defer safe.Recover(&err)
	return o.conf.Check(ctx, value)
}

// unmarshal decodes a value that fits the schema. Its integers may be written as 5.0 or 1e2.
func (o *Output[T]) unmarshal(raw []byte, value *T) error {
	err := o.decodeInto(raw, value)
	if err == nil {
		return nil
	}
	if plain, changed := wholenumber.Rewrite(string(raw)); changed {
		var again T
		if o.decodeInto([]byte(plain), &again) == nil {
			*value = again
			return nil
		}
	}
	return err
}

func (o *Output[T]) decodeInto(raw []byte, value *T) (err error) {
	defer safe.Recover(&err)
	if !o.wraps {
		return json.Unmarshal(raw, value)
	}
	var object struct {
		Result T `json:"result"`
	}
	err = json.Unmarshal(raw, &object)
	*value = object.Result
	return err
}

func (o *Output[T]) invalid(text string, problems ...string) error {
	return &InvalidError{Text: text, Problems: problems}
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// Read reads the events of a run to the end and returns the value that it ended with, or the error that it failed with.
func Read[M adk.MessageType, T any](
	ctx context.Context, o *Output[T], events *adk.AsyncIterator[*adk.TypedAgentEvent[M]],
) (value T, err error) {
	defer events.Close()
	last, found := "", false
	for {
		event, ok := events.Next()
		if !ok {
			break
		}
		if event.Err != nil {
			return value, event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			return value, errors.New("structured: the run was interrupted before it had a value")
		}
		m, _, err := adk.TypedGetMessage(event)
		if err != nil {
			return value, err
		}
		if !reflect.ValueOf(m).IsNil() {
			if text := answerText(m); text != "" {
				last, found = text, true
			}
		}
	}
	if !found {
		return value, errors.New("structured: the run ended without an answer")
	}
	return o.Parse(ctx, last)
}
