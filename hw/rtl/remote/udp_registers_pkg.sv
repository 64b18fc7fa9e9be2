// Registers over UDP: datagrams as docs/integrating/udp_registers.md has them, byte by byte in an Ethernet frame whose IPv4 header
// has 20 bytes.
package udp_registers_pkg;

  // Where each field begins in the frame (IEEE 802.3 3.2, RFC 791, RFC 768)
  typedef enum logic [9:0] {
    AT_DESTINATION_MAC = 0,
    AT_SOURCE_MAC      = 6,
    AT_ETHERTYPE       = 12,
    AT_VERSION_IHL     = 14,
    AT_FRAGMENT        = 20,
    AT_PROTOCOL        = 23,
    AT_SOURCE_IP       = 26,
    AT_DESTINATION_IP  = 30,
    AT_SOURCE_PORT     = 34,
    AT_PORT            = 36,
    AT_UDP_LENGTH      = 38,
    AT_UDP_CHECKSUM    = 40,
    AT_MAGIC           = 42,
    AT_KIND            = 47,
    AT_STATUS          = 48,
    AT_COUNT           = 49,
    AT_NUMBER          = 50,
    AT_TOKEN           = 54,
    AT_ACCESSES        = 62
  } at_e;

  localparam int unsigned ACCESS_BYTES = 8;
  localparam int unsigned MAX_ACCESSES = 64;
  localparam int unsigned HEAD_BYTES = 28;  // of UDP and of a datagram before its accesses

  localparam logic [39:0] MAGIC = {"FLRG", 8'd1};  // and the version
  localparam logic [7:0] HELLO = 8'd0;  // kinds
  localparam logic [7:0] ACCESS = 8'd1;
  localparam logic [7:0] ANSWER = 8'h80;  // or-ed to the kind

  typedef enum logic [7:0] {
    DONE     = 0,
    NO_TOKEN = 1,  // a write without the right token: nothing was done
    NOT_PEER = 2,  // another has said hello first
    REPEATED = 3   // the number of the datagram before: its writes were not done again
  } status_e;

  typedef struct packed {
    logic [7:0]  operation;  // READ or WRITE; in the answer AXI's response: 0, or 2 for an error
    logic [7:0]  zero;
    logic [15:0] address;
    logic [31:0] data;
  } access_t;

  localparam logic [7:0] READ = 8'd0;
  localparam logic [7:0] WRITE = 8'd1;

endpackage
