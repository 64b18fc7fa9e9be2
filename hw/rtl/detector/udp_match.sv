// Passes on what is behind the UDP header of frames for this station, from the first of some ports on: for streams that cannot wait.
// A VLAN tag is taken off. Checksums are not looked at: the FCS covers the frame. All other frames are dropped without a word;
// the station's receive path, beside this, has its counters for them.
// Two cycles from the beat that fills a beat out; a beat a cycle, no bubble.
module udp_match
  import det_pkg::*;
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The station's own addresses, and the ports
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,
    input logic [15:0] first_port_i,
    input logic [ 7:0] ports_i,

    // Frames without FCS. A MAC cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tvalid,

    // What is behind the UDP header, to the end of the frame
    output logic      [DataW-1:0] m_axis_tdata,
    output logic      [KeepW-1:0] m_axis_tkeep,
    output logic                  m_axis_tlast,
    output datagram_t             m_axis_tuser,
    output logic                  m_axis_tvalid,
    output logic                  bad_o           // with tlast: wrong FCS, or cut
);

  typedef struct packed {
    eth_t  eth;
    ipv4_t ip;
    udp_t  udp;
  } header_t;

  localparam int unsigned ADDRESSES_W = 96;

  typedef struct packed {
    logic [ADDRESSES_W-1:0] addresses;
    vlan_t vlan;
    logic [$bits(header_t)-ADDRESSES_W-1:0] rest;
  } tagged_t;

  localparam int unsigned PLAIN_BYTES = $bits(header_t) / 8;
  localparam int unsigned BEATS = ($bits(tagged_t) / 8 + KeepW - 1) / KeepW;
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned TYPE_BEAT = ADDRESSES_W / DataW;  // where the EtherType is, or the tag
  localparam int unsigned TYPE_AT = ADDRESSES_W % DataW;
  localparam logic [15:0] IPV4_FRAGMENT = 16'h3fff;  // more fragments, offset

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end

  // Stage 1: the header as far as it has come.
  logic [BEAT_W-1:0] beat_q;  // stays behind the header
  logic [BEATS-1:0][DataW-1:0] header_q;  // first byte on the left
  logic here, has_vlan, has_vlan_q, whole1_q;

  function automatic logic [DataW-1:0] in_wire_order(input logic [DataW-1:0] lanes);
    for (int unsigned k = 0; k < KeepW; k++) in_wire_order[8*(KeepW-1-k)+:8] = lanes[8*k+:8];
  endfunction

  assign here = {s_axis_tdata[TYPE_AT+:8], s_axis_tdata[TYPE_AT+8+:8]} == ETHERTYPE_VLAN;
  assign has_vlan = beat_q == BEAT_W'(TYPE_BEAT) ? here : has_vlan_q;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      for (int unsigned b = 0; b < BEATS; b++) begin
        if (beat_q == BEAT_W'(b)) header_q[BEATS-1-b] <= in_wire_order(s_axis_tdata);
      end
      has_vlan_q <= has_vlan;
      if (s_axis_tlast) beat_q <= '0;
      else if (beat_q != BEAT_W'(BEATS)) beat_q <= beat_q + 1'b1;
    end
    whole1_q <= s_axis_tvalid && beat_q == BEAT_W'(BEATS - 1);
    if (rst) begin
      beat_q   <= '0;
      whole1_q <= 1'b0;
    end
  end

  // Stage 2: one answer a question.
  localparam int unsigned BYTES_W = BEATS * DataW;

  typedef struct packed {
    logic own_mac;
    logic is_ipv4;
    logic plain;     // no options
    logic fragment;
    logic own_ip;
    logic is_udp;
    logic agree;     // the lengths of IPv4 and UDP
    logic above;     // the port is none before the first
  } answers_t;

  header_t header;
  tagged_t with_tag;
  answers_t answers_q;
  logic [BYTES_W-1:0] bytes;
  logic [15:0] port_q, length_q;
  logic whole2_q;

  assign bytes = header_q;
  assign with_tag = bytes[BYTES_W-1-:$bits(tagged_t)];
  assign header = has_vlan_q ? {with_tag.addresses, with_tag.rest} : bytes[BYTES_W-1-:$bits(header_t)];

  always_ff @(posedge clk) begin
    answers_q <= '{
        own_mac: with_tag.addresses[95:48] == local_mac_i,
        is_ipv4: header.eth.ethertype == ETHERTYPE_IPV4,
        plain: header.ip.version_ihl == IPV4_VERSION_IHL,
        fragment: (header.ip.flags_fragment & IPV4_FRAGMENT) != '0,
        own_ip: header.ip.dst == local_ip_i,
        is_udp: header.ip.protocol == IPV4_PROTOCOL_UDP,
        agree: header.ip.total_length == header.udp.length + 16'(IP_BYTES),
        above: header.udp.dst_port >= first_port_i
    };
    port_q   <= header.udp.dst_port - first_port_i;
    length_q <= header.udp.length - 16'($bits(udp_t) / 8);
    whole2_q <= whole1_q;
    if (rst) whole2_q <= 1'b0;
  end

  // Stage 3: whether it is passed on, until the next one asks.
  logic matches_q;

  always_ff @(posedge clk) begin
    if (whole2_q) begin
      matches_q <= answers_q.own_mac && answers_q.is_ipv4 && answers_q.plain && !answers_q.fragment &&
          answers_q.own_ip && answers_q.is_udp && answers_q.agree && answers_q.above && port_q < 16'(ports_i);
      m_axis_tuser <= '{bytes: length_q, stream: port_q[7:0]};
    end
    if (rst) matches_q <= 1'b0;
  end

  logic behind_tvalid;

  axis_behead #(
      .DataW(DataW),
      .Bytes(PLAIN_BYTES),
      .More (VLAN_BYTES)
  ) u_behead (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .more_i       (has_vlan),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (bad_o),
      .m_axis_tvalid(behind_tvalid)
  );

  assign m_axis_tvalid = behind_tvalid && matches_q;

  logic unused;
  assign unused = ^{bytes, header, with_tag};

endmodule
