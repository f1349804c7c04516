{{/* One hub to a cluster: a second release would work against the first, so names do not follow the release. */}}
{{- define "capstan-hub.name" -}}
capstan-hub
{{- end }}

{{/* Where the Knative operator keeps its notes, wherever the hub runs. */}}
{{- define "capstan-hub.notesNamespace" -}}
knative-operator
{{- end }}

{{- define "capstan-hub.selector" -}}
app.kubernetes.io/name: capstan-hub
{{- end }}

{{- define "capstan-hub.labels" -}}
{{ include "capstan-hub.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "capstan-hub.image" -}}
{{- with .Values.knative_operator.knative_operator -}}
{{ .image }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The provider file. */}}
{{- define "capstan-hub.providerFile" -}}
{{ toPrettyJson .Values.knative_operator.multicluster.accessProvidersConfig }}
{{- end }}
