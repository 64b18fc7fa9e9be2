// What a station says and hears beside its data: ARP, ICMP echo, MAC control frames. Formats are packed structs, first field first
// on the wire; Ethernet and IPv4 headers are those of roce_pkg.
package neighbour_pkg;

  // RFC 826, for IPv4 on Ethernet
  typedef struct packed {
    logic [15:0] hardware;
    logic [15:0] protocol;
    logic [7:0]  hardware_bytes;
    logic [7:0]  protocol_bytes;
    logic [15:0] operation;
    logic [47:0] sender_mac;
    logic [31:0] sender_ip;
    logic [47:0] target_mac;
    logic [31:0] target_ip;
  } arp_t;

  // RFC 792, echo and echo reply; data follows
  typedef struct packed {
    logic [7:0]  kind;
    logic [7:0]  code;
    logic [15:0] checksum;
    logic [15:0] id;
  } echo_t;

  // IEEE 802.3, 31B.2 (PAUSE: its time is the first 16 bits behind the opcode) and 31D.2 (PFC)
  typedef struct packed {
    logic [15:0]      opcode;
    logic [15:0]      enables;  // PFC: bit k: time of priority k counts. PAUSE: the time
    logic [7:0][15:0] times;    // in pause quanta of 512 bit times; priority 0 is the leftmost
  } mac_control_t;

  localparam logic [47:0] MAC_BROADCAST = 48'hffff_ffff_ffff;
  localparam logic [47:0] MAC_CONTROL_GROUP = 48'h0180_c200_0001;  // IEEE 802.3, 31B.1
  localparam logic [15:0] ETHERTYPE_ARP = 16'h0806;
  localparam logic [15:0] ETHERTYPE_MAC_CONTROL = 16'h8808;
  localparam logic [15:0] ARP_ETHERNET = 16'd1;
  localparam logic [15:0] ARP_REQUEST = 16'd1;
  localparam logic [15:0] ARP_REPLY = 16'd2;
  localparam logic [7:0] IPV4_PROTOCOL_ICMP = 8'd1;
  localparam logic [7:0] ECHO = 8'd8;
  localparam logic [7:0] ECHO_REPLY = 8'd0;
  localparam logic [7:0] REPLY_TTL = 8'd64;
  localparam logic [15:0] OPCODE_PAUSE = 16'h0001;
  localparam logic [15:0] OPCODE_PFC = 16'h0101;

  localparam int unsigned FRAME_BYTES_MIN = 60;  // without FCS
  localparam int unsigned FRAME_BYTES_MAX = 1514;  // without FCS and VLAN tag
  localparam int unsigned ARP_BYTES = 14 + $bits(arp_t) / 8;

  localparam int unsigned ANNOUNCE_TICKS = 2000;  // RFC 5227, 1.1: ANNOUNCE_INTERVAL, in ms
  localparam int unsigned DEFEND_TICKS = 10000;  // DEFEND_INTERVAL

  // A VLAN tag beside its frame, which lies on the stream without it
  typedef struct packed {
    logic        has_vlan;
    logic [15:0] tci;       // priority 3 bits, DEI 1, VLAN id 12
  } tag_t;

  // The VLAN of a frame: a tag with id 0 gives a priority only (IEEE 802.1Q, 9.6).
  function automatic logic [11:0] vlan_id(input tag_t tag);
    return tag.has_vlan ? tag.tci[11:0] : 12'd0;
  endfunction

  // Who has this address?
  typedef struct packed {
    tag_t        tag;
    logic [31:0] ip;
  } resolve_t;

  typedef struct packed {
    logic        found;  // else nobody has answered, and `mac` is 0
    logic [31:0] ip;
    logic [47:0] mac;
  } resolved_t;

  // Single events, each for a counter
  typedef struct packed {
    logic malformed;   // no ARP for IPv4 on Ethernet, too short, an impossible sender, an unknown operation
    logic stray;       // a reply that nobody waits for: late, twice, from another than was asked
    logic conflict;    // somebody else uses our IP address (RFC 5227, 2.4)
    logic unresolved;  // nobody has answered in time
    logic resolved;
    logic lost;        // a request for us came while too many waited for their answer
    logic answered;    // a request for us
  } arp_events_t;

  typedef struct packed {
    logic checksum;   // wrong, of the IPv4 header or the message
    logic malformed;  // IPv4 options, a fragment, lengths that cannot be
    logic ignored;    // no echo request, or not from one station to us
    logic busy;       // came while another was answered
    logic answered;
  } echo_events_t;

  typedef struct packed {
    logic held;            // data are held in this cycle
    logic malformed;       // too short, another destination, an unknown opcode
    logic priority_pause;  // PFC
    logic pause;           // 802.3x
  } pause_events_t;

  typedef struct packed {
    arp_events_t   arp;
    echo_events_t  echo;
    pause_events_t pause;
  } neighbour_events_t;

  // Registers. Times in ms need clocks_per_ms.
  typedef struct packed {
    logic        arp_enabled;         // answers, asks, announces
    logic        echo_enabled;
    logic        pause_honoured;      // 802.3x; else counted only
    logic [7:0]  data_priorities;     // PFC of these priorities holds data; of others it is counted only
    logic [7:0]  control_priorities;  // the same for ARP and echo
    logic [19:0] quanta_per_clock;    // pause quanta in a clock cycle, in 2^-16: 65536 * (bits/s) / 512 / (clock in Hz)
    logic [23:0] clocks_per_ms;
    logic [15:0] timeout_ms;          // of an ARP request
    logic [3:0]  retries;             // requests behind the first one
    tag_t        tag;                 // of announcements
    logic [31:0] ip;
    logic [47:0] mac;
  } neighbour_config_t;

endpackage
