package media

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestFromURL_ReadsWhatAURLHasInItself(t *testing.T) {
	m, err := FromURL("data:image/png;base64,AA==", "")
	require.NoError(t, err)
	require.Equal(t, "AA== image/png", *m.Base64Data+" "+m.MIMEType)
	m, err = FromURL("data:;base64,AA==", "audio/wav")
	require.NoError(t, err)
	require.Equal(t, "audio/wav", m.MIMEType)
	m, err = FromURL("https://example.com/a", "image/png")
	require.NoError(t, err)
	require.Equal(t, "https://example.com/a", *m.URL)
	for _, bad := range []string{"data:", "data:image/png,x", "data:image/png;base64,!"} {
		_, err := FromURL(bad, "")
		require.Error(t, err, bad)
	}
}

func TestPart_IsOfTheKindOfItsType(t *testing.T) {
	for mime, want := range map[string]schema.ChatMessagePartType{"image/png": schema.ChatMessagePartTypeImageURL,
		"audio/wav": schema.ChatMessagePartTypeAudioURL, "video/mp4": schema.ChatMessagePartTypeVideoURL,
		"application/pdf": schema.ChatMessagePartTypeFileURL, "": schema.ChatMessagePartTypeFileURL} {
		require.Equal(t, want, Part(KindOf(mime), schema.MessagePartCommon{MIMEType: mime}).Type, mime)
	}
}
