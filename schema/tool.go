package schema

// DataType is a type of JSON Schema.
type DataType string

const (
	// Object is a JSON object.
	Object DataType = "object"
	// Number is any JSON number.
	Number DataType = "number"
	// Integer is a JSON number without a fraction.
	Integer DataType = "integer"
	// String is a JSON string.
	String DataType = "string"
	// Array is a JSON array.
	Array DataType = "array"
	// Null is the JSON null.
	Null DataType = "null"
	// Boolean is true or false.
	Boolean DataType = "boolean"
)

// ToolInfo describes to a model what a tool is for and what arguments it takes.
type ToolInfo struct {
	// Name is the name by which the model calls the tool. It must be unique among the tools of one request.
	Name string
	// Desc explains to the model how, when and why to use the tool. Short examples in it help.
	Desc string
	// Extra holds what a provider's adapter understands beyond this. It is not sent to the model by itself.
	Extra map[string]any
	// ParamsOneOf describes the arguments. Nil means that the tool takes none.
	*ParamsOneOf
}

// ParameterInfo describes one parameter of a tool.
type ParameterInfo struct {
	Type DataType
	// ElemInfo describes the elements of an [Array].
	ElemInfo *ParameterInfo
	// SubParams describes the fields of an [Object], by name.
	SubParams map[string]*ParameterInfo
	// Desc explains to the model what the parameter is for.
	Desc string
	// Enum lists the allowed values of a [String].
	Enum []string
	// Required marks a parameter that the model must give.
	Required bool
}
