/**
 * Shell text that a pod runs as root before sshd (decisions.md § 2). It does nothing where the image has
 * what compute needs, and says so in the pod's log where it has not.
 */
export const CLI_SETUP = `set -eu
if [ ! -x /usr/local/bin/compute-login ]; then
  echo 'This image has no /usr/local/bin/compute-login: members cannot sign in. Use the pod image of the deployment.' >&2
fi
`
