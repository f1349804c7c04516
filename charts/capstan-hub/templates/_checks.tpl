{{/* What cannot work is refused here, with words, before anything is installed. */}}
{{- define "capstan-hub.checks" -}}
{{- with .Values.knative_operator.multicluster }}
{{- if .enabled }}
{{- if not .accessProvidersConfig.providers }}
{{- fail "knative_operator.multicluster.enabled is true, but knative_operator.multicluster.accessProvidersConfig names no provider. List at least one below accessProvidersConfig.providers, such as {name: token-secretreader, builtin: token-secretreader}, or set enabled to false." }}
{{- end }}
{{- include "capstan-hub.checkPlugins" . }}
{{- include "capstan-hub.checkProviders" . }}
{{- if .plugins }}
{{- include "capstan-hub.checkImageVolumes" (dict "root" $ "value" "knative_operator.multicluster.plugins") }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.hub.knativeManifests.image }}
{{- include "capstan-hub.checkImageVolumes" (dict "root" . "value" "hub.knativeManifests.image") }}
{{- end }}
{{- end }}

{{- define "capstan-hub.checkPlugins" }}
{{- $names := list }}
{{- $paths := list }}
{{- range .plugins }}
{{- if not (hasPrefix "/" .mountPath) }}
{{- fail (printf "knative_operator.multicluster.plugins: the mountPath %q of plugin %q is relative. Make it absolute, such as /access-plugins/%s." .mountPath .name .name) }}
{{- end }}
{{- if eq (clean .mountPath) "/" }}
{{- fail (printf "knative_operator.multicluster.plugins: the mountPath %q of plugin %q would hide the hub's own files. Mount it below a folder, such as /access-plugins/%s." .mountPath .name .name) }}
{{- end }}
{{- if or (has .name $names) (has (clean .mountPath) $paths) }}
{{- fail (printf "knative_operator.multicluster.plugins: plugin %q has the name or the mountPath of another one. Give each its own." .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- $paths = append $paths (clean .mountPath) }}
{{- end }}
{{- end }}

{{/* Nothing else is in the container that could be run, and a path with `..` must not lead to it either. */}}
{{- define "capstan-hub.checkProviders" }}
{{- $plugins := .plugins }}
{{- range .accessProvidersConfig.providers }}
{{- $command := (.execConfig | default dict).command | default "" }}
{{- if $command }}
{{- $isBelow := false }}
{{- range $plugins }}
{{- if hasPrefix (printf "%s/" (clean .mountPath)) (clean $command) }}
{{- $isBelow = true }}
{{- end }}
{{- end }}
{{- if not $isBelow }}
{{- fail (printf "knative_operator.multicluster.accessProvidersConfig: the command %q of provider %q is not below the mountPath of any plugin, so it would not be found. Add a plugin to knative_operator.multicluster.plugins whose mountPath it is below, or use one of Capstan's own plugins by `builtin` in place of execConfig." $command .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "capstan-hub.checkImageVolumes" }}
{{- $version := .root.Capabilities.KubeVersion.Version }}
{{- if not (semverCompare ">=1.35.0-0" $version) }}
{{- fail (printf "%s mounts images as volumes, which takes Kubernetes 1.35 or later on the hub; this one is %s. Upgrade it, or use Capstan's own plugins (`builtin` in accessProvidersConfig), which need no image." .value $version) }}
{{- end }}
{{- end }}
