// Answers ICMP echo requests (RFC 792, RFC 1122 3.2.2.6): one at a time, of up to 1500 bytes of IPv4, when both checksums are right.
// Keeps the request in memory while it comes, then sends it back with new headers. What comes meanwhile is dropped.
module icmp_echo
  import neighbour_pkg::*;
  import roce_pkg::eth_t;
  import roce_pkg::ipv4_t;
  import roce_pkg::ETHERTYPE_IPV4;
  import roce_pkg::IPV4_VERSION_IHL;
  import roce_pkg::IPV4_DONT_FRAGMENT;
(
    input logic clk,
    input logic rst,

    // Registers
    input logic        enabled_i,
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    // Frames without FCS and VLAN tag. Never stalled
    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    input  tag_t        s_axis_tuser,
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,

    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tlast,
    output tag_t        m_axis_tuser,
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready,

    output echo_events_t events_o
);

  localparam int unsigned ETH_BYTES = $bits(eth_t) / 8;
  localparam int unsigned IP_BYTES = $bits(ipv4_t) / 8;
  localparam int unsigned HEADER_BYTES = ETH_BYTES + IP_BYTES + $bits(echo_t) / 8;  // those that the answer has anew
  localparam int unsigned HEAD_BEATS = HEADER_BYTES / 8;  // no rest
  localparam int unsigned IP_BYTES_MIN = IP_BYTES + 8;
  localparam int unsigned IP_BYTES_MAX = FRAME_BYTES_MAX - ETH_BYTES;
  localparam int unsigned BEATS = (FRAME_BYTES_MAX + 7) / 8;
  localparam int unsigned BEAT_W = $clog2(BEATS);
  localparam int unsigned WORDS = IP_BYTES / 2;  // of the answer's IPv4 header

  typedef logic [BEAT_W-1:0] beat_t;

  typedef enum logic [1:0] {
    RECEIVE,
    SUM,      // the answer's IPv4 header is summed, one word a cycle; meanwhile the request's sums come to their end
    JUDGE,
    SEND
  } state_e;

  state_e state_q;

  // A frame is taken from its first beat on, or not at all.
  logic inside_q, taken_q, taken, beat_taken, missed_q, ended;

  assign taken = inside_q ? taken_q : state_q == RECEIVE && !ended;
  assign beat_taken = s_axis_tvalid && taken;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      inside_q <= !s_axis_tlast;
      taken_q  <= taken;
    end
    missed_q <= s_axis_tvalid && s_axis_tlast && !taken;
    if (rst) begin
      inside_q <= 1'b0;
      missed_q <= 1'b0;
    end
  end

  logic [64*HEAD_BEATS-1:0] head;
  logic [10:0] length;
  tag_t tag;
  eth_t eth;
  ipv4_t ip;
  echo_t echo;

  frame_head #(
      .Beats(HEAD_BEATS),
      .UserW($bits(tag_t))
  ) u_head (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid(beat_taken),
      .s_axis_tready,
      .ended_o      (ended),
      .head_o       (head),
      .length_o     (length),
      .user_o       (tag)
  );

  assign {eth, ip, echo} = head;

  // The request's bytes, and its sums: words of 16 bits of the IPv4 header and of the message, without what lies behind it.
  logic [63:0] memory[1 << BEAT_W];
  beat_t in_q, in1_q;
  logic [63:0] data1_q;
  logic valid1_q, valid2_q, valid3_q;
  logic [3:0][15:0] header_words, message_words, header2_q, message2_q;
  logic [17:0] header3_q, message3_q;
  logic [19:0] header_sum_q;
  logic [25:0] message_sum_q;
  logic [7:0] is_header, is_message;
  logic [15:0] message_end_q;  // bytes of the frame up to the message's end: known before its first one is looked at
  logic [15:0] message_left;  // those from this beat on

  always_ff @(posedge clk) message_end_q <= ip.total_length + 16'(ETH_BYTES);
  assign message_left = message_end_q - {16'(in1_q) << 3};

  always_comb begin
    for (int unsigned k = 0; k < 8; k++) begin
      is_header[k] = 32'(in1_q) * 8 + k >= ETH_BYTES && 32'(in1_q) * 8 + k < ETH_BYTES + IP_BYTES;
      is_message[k] = 32'(in1_q) * 8 + k >= ETH_BYTES + IP_BYTES && 16'(k) < message_left && !message_left[15];
      // The first byte of a word is its high one.
      header_words[k/2][8*(1-k%2)+:8] = is_header[k] ? data1_q[8*k+:8] : '0;
      message_words[k/2][8*(1-k%2)+:8] = is_message[k] ? data1_q[8*k+:8] : '0;
    end
  end

  function automatic logic [17:0] total(input logic [3:0][15:0] words);
    return (18'(words[0]) + 18'(words[1])) + (18'(words[2]) + 18'(words[3]));
  endfunction

  always_ff @(posedge clk) begin
    if (beat_taken) begin
      memory[in_q] <= s_axis_tdata;
      in_q <= s_axis_tlast ? '0 : in_q + beat_t'(in_q != '1);
    end
    data1_q  <= s_axis_tdata;
    in1_q    <= in_q;
    valid1_q <= beat_taken;
    header2_q  <= header_words;
    message2_q <= message_words;
    valid2_q   <= valid1_q;
    header3_q  <= total(header2_q);
    message3_q <= total(message2_q);
    valid3_q   <= valid2_q;
    if (valid3_q) begin
      header_sum_q  <= header_sum_q + 20'(header3_q);
      message_sum_q <= message_sum_q + 26'(message3_q);
    end
    if (state_q == JUDGE) begin
      header_sum_q  <= '0;
      message_sum_q <= '0;
    end
    if (rst) begin
      in_q <= '0;
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
      valid3_q <= 1'b0;
      header_sum_q <= '0;
      message_sum_q <= '0;
    end
  end

  // Carries added again, a sum with its checksum is all ones (RFC 1071).
  logic [16:0] header_folded_q, message_folded_q;
  logic sums_right;

  always_ff @(posedge clk) begin
    header_folded_q  <= 17'(header_sum_q[15:0]) + 17'(header_sum_q[19:16]);
    message_folded_q <= 17'(message_sum_q[15:0]) + 17'(message_sum_q[25:16]);
  end

  function automatic logic [15:0] folded(input logic [16:0] sum);
    return sum[15:0] + 16'(sum[16]);
  endfunction

  // As folded(sum) == '1, without adding
  function automatic logic folds_to_ones(input logic [16:0] sum);
    return sum[15:1] == '1 && sum[0] != sum[16];
  endfunction

  assign sums_right = folds_to_ones(header_folded_q) && folds_to_ones(message_folded_q);

  // Judging. The header is whole in SUM, which takes longer than a cycle.
  logic for_us, for_us_q, well_formed, well_formed_q, fragment, fits, good;

  assign for_us = enabled_i && eth.dst == local_mac_i && !eth.src[40] && eth.ethertype == ETHERTYPE_IPV4 &&
      ip.protocol == IPV4_PROTOCOL_ICMP && ip.dst == local_ip_i && ip.src != local_ip_i && ip.src != '0 &&
      ip.src[31:28] != 4'he && ip.src != '1;
  assign fragment = (ip.flags_fragment & 16'h3fff) != '0;  // MF or an offset
  assign fits = length >= 11'(HEADER_BYTES) && ip.total_length >= 16'(IP_BYTES_MIN) &&
      ip.total_length <= 16'(IP_BYTES_MAX) && 16'(length) >= message_end_q &&
      length <= 11'(FRAME_BYTES_MAX);
  assign well_formed = ip.version_ihl == IPV4_VERSION_IHL && !fragment && fits;

  always_ff @(posedge clk) begin
    for_us_q <= for_us;
    well_formed_q <= well_formed;
  end

  typedef enum logic [1:0] {
    ANSWER,
    IGNORED,
    MALFORMED,
    CHECKSUM
  } verdict_e;

  verdict_e verdict;

  always_comb begin
    verdict = ANSWER;
    if (length < 11'(HEADER_BYTES)) verdict = MALFORMED;
    else if (!for_us_q) verdict = IGNORED;
    else if (!well_formed_q) verdict = MALFORMED;
    else if (!sums_right) verdict = CHECKSUM;
    else if (echo.kind != ECHO || echo.code != '0) verdict = IGNORED;
  end

  assign good = verdict == ANSWER;
  assign events_o = '{
          checksum: state_q == JUDGE && verdict == CHECKSUM,
          malformed: state_q == JUDGE && verdict == MALFORMED,
          ignored: state_q == JUDGE && verdict == IGNORED,
          busy: missed_q,
          answered: state_q == JUDGE && good
      };

  // The answer: type of service and length of the request, everything else anew.
  ipv4_t ip_out;
  eth_t eth_out;
  echo_t echo_out;
  logic [WORDS-1:0][15:0] words;
  logic [$clog2(WORDS)-1:0] word_q;
  logic [16:0] sum_q, echo_sum;

  always_comb begin
    ip_out = '{
        version_ihl: IPV4_VERSION_IHL,
        tos: ip.tos,
        total_length: ip.total_length,
        id: '0,
        flags_fragment: IPV4_DONT_FRAGMENT,
        ttl: REPLY_TTL,
        protocol: IPV4_PROTOCOL_ICMP,
        checksum: '0,
        src: local_ip_i,
        dst: ip.src
    };
    words = ip_out;
    ip_out.checksum = ~folded(sum_q);
  end

  // RFC 1624: the type falls from 8 to 0, the checksum grows by as much.
  assign echo_sum = 17'(echo.checksum) + 17'({ECHO, 8'd0});
  assign echo_out = '{kind: ECHO_REPLY, code: '0, checksum: folded(echo_sum), id: echo.id};
  assign eth_out = '{dst: eth.src, src: local_mac_i, ethertype: ETHERTYPE_IPV4};

  beat_t out_q, out;
  logic [10:0] frame_bytes_q, out_left;  // of the answer with its padding; from this beat on
  logic [63:0] read_q, lanes;
  logic [15:0] data_left;
  logic [HEAD_BEATS-1:0][63:0] header_lanes;
  logic sending, go, last, ready;

  always_comb begin
    header_lanes = '0;
    for (int unsigned k = 0; k < HEADER_BYTES; k++)
    header_lanes[k/8][8*(k%8)+:8] = 8'({eth_out, ip_out, echo_out} >> 8 * (HEADER_BYTES - 1 - k));
  end

  assign sending = state_q == SEND;
  assign go = sending && ready;
  assign out = go ? out_q + 1'b1 : out_q;
  assign out_left = frame_bytes_q - (11'(out_q) << 3);
  assign data_left = message_end_q - (16'(out_q) << 3);
  assign last = out_left <= 11'd8;

  always_comb begin
    lanes = read_q;
    for (int unsigned b = 0; b < HEAD_BEATS; b++) if (out_q == beat_t'(b)) lanes = header_lanes[b];
    for (int unsigned k = 0; k < 8; k++) if (16'(k) >= data_left || data_left[15]) lanes[8*k+:8] = '0;
  end

  always_ff @(posedge clk) begin
    read_q <= memory[out];
    out_q  <= sending ? out : '0;
    unique case (state_q)
      RECEIVE: begin
        word_q <= '0;
        sum_q  <= '0;
        if (ended) state_q <= SUM;
      end
      SUM: begin
        sum_q  <= 17'(sum_q[15:0]) + 17'(words[word_q]) + 17'(sum_q[16]);
        word_q <= word_q + 1'b1;
        if (word_q == ($clog2(WORDS))'(WORDS - 1)) state_q <= JUDGE;
      end
      JUDGE: begin
        frame_bytes_q <= ip.total_length < 16'(FRAME_BYTES_MIN - ETH_BYTES) ? 11'(FRAME_BYTES_MIN) :
            ip.total_length[10:0] + 11'(ETH_BYTES);
        state_q <= good ? SEND : RECEIVE;
      end
      SEND: if (go && last) state_q <= RECEIVE;
    endcase
    if (rst) state_q <= RECEIVE;
  end

  axis_reg #(
      .DataW($bits(tag_t) + 1 + 8 + 64)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({tag, last, last ? 8'hff >> (4'd8 - out_left[3:0]) : 8'hff, lanes}),
      .s_axis_tvalid(sending),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic unused;
  assign unused = ^ip;

endmodule
