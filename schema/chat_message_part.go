package schema

// ChatMessagePart is a part of a multi-modal message of either side.
//
// Deprecated: use [MessageInputPart] for what goes to the model and [MessageOutputPart] for what it produced.
type ChatMessagePart struct {
	Type ChatMessagePartType `json:"type,omitempty"`

	Text     string               `json:"text,omitempty"`
	ImageURL *ChatMessageImageURL `json:"image_url,omitempty"`
	AudioURL *ChatMessageAudioURL `json:"audio_url,omitempty"`
	VideoURL *ChatMessageVideoURL `json:"video_url,omitempty"`
	FileURL  *ChatMessageFileURL  `json:"file_url,omitempty"`
}

// ChatMessageImageURL is an image by reference.
//
// Deprecated: use [MessageInputImage] or [MessageOutputImage].
type ChatMessageImageURL struct {
	// URL is a web address or a data URL.
	URL string `json:"url,omitempty"`
	// URI is an address that only the provider understands.
	URI      string         `json:"uri,omitempty"`
	Detail   ImageURLDetail `json:"detail,omitempty"`
	MIMEType string         `json:"mime_type,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}

// ChatMessageAudioURL is a piece of audio by reference.
//
// Deprecated: use [MessageInputAudio] or [MessageOutputAudio].
type ChatMessageAudioURL struct {
	// URL is a web address or a data URL.
	URL string `json:"url,omitempty"`
	// URI is an address that only the provider understands.
	URI      string         `json:"uri,omitempty"`
	MIMEType string         `json:"mime_type,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}

// ChatMessageVideoURL is a video by reference.
//
// Deprecated: use [MessageInputVideo] or [MessageOutputVideo].
type ChatMessageVideoURL struct {
	// URL is a web address or a data URL.
	URL string `json:"url,omitempty"`
	// URI is an address that only the provider understands.
	URI      string         `json:"uri,omitempty"`
	MIMEType string         `json:"mime_type,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}

// ChatMessageFileURL is a file by reference.
//
// Deprecated: use [MessageInputFile].
type ChatMessageFileURL struct {
	// URL is a web address or a data URL.
	URL string `json:"url,omitempty"`
	// URI is an address that only the provider understands.
	URI      string         `json:"uri,omitempty"`
	MIMEType string         `json:"mime_type,omitempty"`
	Name     string         `json:"name,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}
