// Answers ARP requests for one address, and ping, byte by byte: what neighbour does at the core's width, where there is no room for it.
// One frame is served at a time, and each answer is its request with fields changed. Echo requests of up to 2047 bytes; their checksum
// is carried on, not checked: the FCS of the frame was. A board that is silent otherwise: no announcements, no questions.
module arp_ping (
    input logic clk,
    input logic rst,

    input logic [47:0] mac_i,
    input logic [31:0] ip_i,

    // Ethernet frames without FCS
    input  logic [7:0] s_axis_tdata,
    input  logic       s_axis_tlast,
    input  logic       s_axis_tuser,   // with tlast: cut
    input  logic       s_axis_tvalid,
    output logic       s_axis_tready,

    // Answers, with gaps
    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tlast,
    output logic       m_axis_tvalid,
    input  logic       m_axis_tready
);

  localparam int unsigned AT_W = 11;
  localparam int unsigned HEAD_W = 6;

  // Where fields begin in a frame (IEEE 802.3 3.2, RFC 826, RFC 791, RFC 792)
  typedef enum logic [HEAD_W-1:0] {
    AT_DESTINATION = 0,
    AT_SOURCE      = 6,
    AT_ETHERTYPE   = 12,
    AT_IHL         = 14,
    AT_LENGTH      = 16,
    AT_FRAGMENT    = 20,
    AT_OPERATION   = 21,  // of ARP, its low byte
    AT_SENDER_MAC  = 22,
    AT_PROTOCOL    = 23,
    AT_IP_SOURCE   = 26,
    AT_SENDER_IP   = 28,
    AT_IP_TARGET   = 30,
    AT_TARGET_MAC  = 32,
    AT_ICMP_TYPE   = 34,
    AT_CHECKSUM    = 36,
    AT_TARGET_IP   = 38,
    SHORTEST       = 60,  // without FCS
    BEHIND         = 63   // all fields
  } place_e;

  // Ethertype, and what ARP says of Ethernet and IPv4 up to a request's operation (RFC 826)
  localparam logic [79:0] ARP_HEAD = 80'h0806_0001_0800_0604_0001;
  localparam logic [15:0] ETHERTYPE_IP = 16'h0800;
  localparam logic [15:0] FRAGMENT = 16'h3fff;  // more fragments, and the offset
  localparam logic [7:0] ICMP = 8'd1;
  localparam logic [7:0] ECHO_REQUEST = 8'd8;
  localparam logic [7:0] ECHO_REPLY = 8'd0;
  localparam logic [7:0] ARP_REPLY = 8'd2;

  typedef logic [AT_W-1:0] at_t;
  typedef logic [HEAD_W-1:0] place_t;

  typedef enum logic [1:0] {
    RECEIVE,
    JUDGE,
    READ_BYTE,
    SEND_BYTE
  } state_e;

  state_e state_q, state_d;
  at_t at_q, at_d, end_q;
  place_t place;
  logic arp_q, echo_q;  // what the frame may still be
  logic [15:0] length_q, checksum_q, checksum;
  logic take, sent, fits, too_long_q, of_mac, fits_arp, fits_echo;
  at_t answer_end;  // of an echo
  logic [7:0] mac_byte, ip_byte;  // of this board's addresses, at a field that has them

  function automatic logic is_of(input place_t at, input place_e from, input int unsigned bytes);
    return at >= from && 32'(at) < 32'(from) + bytes;
  endfunction

  // Byte `at` of a field of so many bytes that begins at `from`
  function automatic logic [7:0] byte_of(input logic [79:0] value, input int unsigned bytes, input place_e from,
                                         input place_t at);
    return 8'(value >> (8 * (4'(bytes - 1) - 4'(at - from))));
  endfunction

  assign place = at_q[AT_W-1:HEAD_W] == '0 ? at_q[HEAD_W-1:0] : BEHIND;

  // Each address has one multiplexer for all its fields, by the low bits of the place: AT_SENDER_MAC is AT_SOURCE modulo 8,
  // AT_TARGET_IP is AT_IP_TARGET modulo 4
  always_comb begin
    logic [2:0] of_mac_at;
    logic [1:0] of_ip_at;
    of_mac_at = 3'(place) - 3'(place < AT_SOURCE ? AT_DESTINATION : AT_SOURCE);
    of_ip_at  = 2'(place) - 2'(state_q == RECEIVE ? AT_TARGET_IP : AT_SENDER_IP);
    mac_byte  = mac_i[8*(6'd5-6'(of_mac_at))+:8];
    ip_byte   = ip_i[8*(5'd3-5'(of_ip_at))+:8];
  end

  // Whether a byte that comes is one that a request has there
  always_comb begin
    of_mac   = s_axis_tdata == mac_byte;
    fits_arp = 1'b1;
    if (is_of(place, AT_DESTINATION, 6)) fits_arp = s_axis_tdata == '1 || of_mac;
    if (is_of(place, AT_ETHERTYPE, 10)) fits_arp = s_axis_tdata == byte_of(ARP_HEAD, 10, AT_ETHERTYPE, place);
    if (is_of(place, AT_TARGET_IP, 4)) fits_arp = s_axis_tdata == ip_byte;

    fits_echo = 1'b1;
    if (is_of(place, AT_DESTINATION, 6)) fits_echo = of_mac;
    if (is_of(place, AT_ETHERTYPE, 2)) fits_echo = s_axis_tdata == byte_of(80'(ETHERTYPE_IP), 2, AT_ETHERTYPE, place);
    if (place == AT_IHL) fits_echo = s_axis_tdata == 8'h45;
    if (is_of(place, AT_FRAGMENT, 2)) fits_echo = (s_axis_tdata & byte_of(80'(FRAGMENT), 2, AT_FRAGMENT, place)) == '0;
    if (place == AT_PROTOCOL) fits_echo = s_axis_tdata == ICMP;
    if (is_of(place, AT_IP_TARGET, 4)) fits_echo = s_axis_tdata == ip_byte;
    if (place == AT_ICMP_TYPE) fits_echo = s_axis_tdata == ECHO_REQUEST;
    if (place == AT_ICMP_TYPE + 1) fits_echo = s_axis_tdata == '0;
  end

  // Where the answer's byte `at` was in the request, in its head
  function automatic place_t origin(input place_t at, input logic arp);
    if (is_of(at, AT_DESTINATION, 6)) return at + place_t'(AT_SOURCE - AT_DESTINATION);
    if (arp && is_of(at, AT_TARGET_MAC, 10)) return at - place_t'(AT_TARGET_MAC - AT_SENDER_MAC);
    if (!arp && is_of(at, AT_IP_SOURCE, 4)) return at + place_t'(AT_IP_TARGET - AT_IP_SOURCE);
    if (!arp && is_of(at, AT_IP_TARGET, 4)) return at - place_t'(AT_IP_TARGET - AT_IP_SOURCE);
    return at;
  endfunction

  // The frame as it came
  logic [7:0] memory[1 << AT_W];
  logic [7:0] byte_q;
  at_t read;

  assign read = place == BEHIND ? at_q : {at_q[AT_W-1:HEAD_W], origin(place, arp_q)};

  always_ff @(posedge clk) begin
    if (take) memory[at_q] <= s_axis_tdata;
    byte_q <= memory[read];
  end

  assign s_axis_tready = state_q == RECEIVE;
  assign take = state_q == RECEIVE && s_axis_tvalid;
  assign sent = state_q == SEND_BYTE && m_axis_tready;
  assign fits = !too_long_q && length_q >= 16'd28 && 16'(at_q) >= length_q + 16'(AT_IHL);
  assign answer_end = at_t'(length_q) + at_t'(AT_IHL);

  always_comb begin
    state_d = state_q;
    at_d = at_q;
    unique case (state_q)
      RECEIVE: begin
        if (take && at_q != '1) at_d = at_q + 1'b1;
        if (take && s_axis_tlast) state_d = JUDGE;
      end
      JUDGE: begin
        at_d = '0;
        state_d = RECEIVE;
        if (at_q >= at_t'(SHORTEST) && (arp_q || (echo_q && fits))) state_d = READ_BYTE;
      end
      READ_BYTE: state_d = SEND_BYTE;
      default: begin
        if (sent) begin
          at_d = m_axis_tlast ? '0 : at_q + 1'b1;
          state_d = m_axis_tlast ? RECEIVE : READ_BYTE;
        end
      end
    endcase
  end

  // The type is 8 less, so the checksum 8 << 8 more, with its carry around (RFC 1624)
  assign checksum = checksum_q + 16'h0800 + 16'(checksum_q[15:8] >= 8'hf8);

  always_comb begin
    m_axis_tdata = byte_q;
    if (is_of(place, AT_SOURCE, 6)) m_axis_tdata = mac_byte;
    if (arp_q) begin
      if (place == AT_OPERATION) m_axis_tdata = ARP_REPLY;
      if (is_of(place, AT_SENDER_MAC, 6)) m_axis_tdata = mac_byte;
      if (is_of(place, AT_SENDER_IP, 4)) m_axis_tdata = ip_byte;
    end else begin
      if (place == AT_ICMP_TYPE) m_axis_tdata = ECHO_REPLY;
      if (is_of(place, AT_CHECKSUM, 2)) m_axis_tdata = byte_of(80'(checksum), 2, AT_CHECKSUM, place);
    end
  end

  assign m_axis_tlast  = at_q == end_q;
  assign m_axis_tvalid = state_q == SEND_BYTE;

  always_ff @(posedge clk) begin
    state_q <= state_d;
    at_q <= at_d;
    if (take) begin
      arp_q <= (at_q == '0 || arp_q) && fits_arp && !(s_axis_tlast && s_axis_tuser);
      echo_q <= (at_q == '0 || echo_q) && fits_echo && !(s_axis_tlast && s_axis_tuser);
      too_long_q <= at_q == '1;
      if (is_of(place, AT_LENGTH, 2)) length_q <= {length_q[7:0], s_axis_tdata};
      if (is_of(place, AT_CHECKSUM, 2)) checksum_q <= {checksum_q[7:0], s_axis_tdata};
    end
    // What a short frame was filled up with goes back with it
    if (state_q == JUDGE) end_q <= arp_q || answer_end < at_t'(SHORTEST) ? at_t'(SHORTEST) - 1'b1 : answer_end - 1'b1;
    if (rst) begin
      state_q <= RECEIVE;
      at_q <= '0;
    end
  end

endmodule
