/**
 * The whole program as one command, `ping-llm STAGE [options]`: what the compiled binary runs.
 *
 * @module
 */
