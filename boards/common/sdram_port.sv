// An SDR SDRAM as an AXI4 read slave of 64 bits, and a port by which registers write and read single words of 32, between two bursts.
module sdram_port
  import sdram_pkg::*;
#(
    parameter int unsigned AddrW   = 32,
    parameter int unsigned BankW   = 1,
    parameter int unsigned Refresh = 960,  // sdram_control's

    localparam int unsigned DataW = 64,
    localparam int unsigned WordW = BankW + ROW_W + COLUMN_W
) (
    input logic clk,
    input logic rst,

    // One ID, bursts of type INCR of whole beats; addresses of bytes, of which those above the memory are left out
    input  logic [AddrW-1:0] s_axi_araddr,
    input  logic       [7:0] s_axi_arlen,
    input  logic             s_axi_arvalid,
    output logic             s_axi_arready,
    output logic [DataW-1:0] s_axi_rdata,
    output logic             s_axi_rlast,
    output logic             s_axi_rvalid,
    input  logic             s_axi_rready,

    // A word
    input  logic [ WordW-1:0] word_address_i,
    input  logic              word_write_i,
    input  logic [DATA_W-1:0] word_data_i,
    input  logic              word_valid_i,
    output logic              word_ready_o,
    output logic              word_read_o,     // pulse: dq_i is what was read
    output logic              ready_for_use_o,

    input  logic        [       1:0] delay_i,
    output sdram_pins_t              pins_o,
    input  logic        [DATA_W-1:0] dq_i
);

  localparam int unsigned DEPTH = 16;  // words that may be on their way, or wait
  localparam int unsigned COUNT_W = $clog2(DEPTH + 1);

  typedef struct packed {
    logic of_burst;
    logic last;
  } tag_t;

  logic [WordW-1:0] address_q;
  logic [8:0] left_q;  // words behind the next one
  logic [COUNT_W-1:0] room_q;
  logic busy_q, take, asks, goes, ready, whose_word_q, read_valid, word_tvalid, word_tready, unused_ready, half_q;
  logic [DATA_W:0] word_tdata;
  tag_t tag, read_tag;

  // A word of the registers is waited for until it is done, so that what is asked of the chip stands
  assign asks = whose_word_q ? word_valid_i : busy_q && room_q != '0;
  assign goes = asks && ready;
  assign word_ready_o = whose_word_q && ready;
  assign s_axi_arready = !whose_word_q && !word_valid_i && (!busy_q || (goes && left_q == '0));
  assign take = s_axi_arvalid && s_axi_arready;
  assign tag = '{of_burst: !whose_word_q, last: left_q == '0};

  always_ff @(posedge clk) begin
    if (goes && !whose_word_q) begin
      address_q <= address_q + 1'b1;
      left_q <= left_q - 1'b1;
      if (left_q == '0) busy_q <= 1'b0;
    end
    if (take) begin
      address_q <= {s_axi_araddr[WordW+1:3], 1'b0};
      left_q <= {s_axi_arlen, 1'b1};
      busy_q <= 1'b1;
    end
    whose_word_q <= whose_word_q ? !ready : word_valid_i && !busy_q;
    room_q <= room_q + COUNT_W'(word_tvalid && word_tready) - COUNT_W'(goes && !whose_word_q);
    if (rst) begin
      busy_q <= 1'b0;
      whose_word_q <= 1'b0;
      room_q <= COUNT_W'(DEPTH);
    end
  end

  sdram_control #(
      .BankW  (BankW),
      .Refresh(Refresh)
  ) u_control (
      .clk,
      .rst,
      .address_i   (whose_word_q ? word_address_i : address_q),
      .write_i     (whose_word_q && word_write_i),
      .data_i      (word_data_i),
      .tag_i       (tag),
      .valid_i     (asks),
      .ready_o     (ready),
      .read_tag_o  (read_tag),
      .read_valid_o(read_valid),
      .delay_i,
      .ready_for_use_o,
      .pins_o
  );

  assign word_read_o = read_valid && !read_tag.of_burst;

  axis_fifo #(
      .DataW(DATA_W + 1),
      .Depth(DEPTH)
  ) u_words (
      .clk,
      .rst,
      .s_axis_tdata ({read_tag.last, dq_i}),
      .s_axis_tvalid(read_valid && read_tag.of_burst),
      .s_axis_tready(unused_ready),
      .m_axis_tdata (word_tdata),
      .m_axis_tvalid(word_tvalid),
      .m_axis_tready(word_tready)
  );

  // Two words are a beat
  assign word_tready = !s_axi_rvalid || s_axi_rready;

  always_ff @(posedge clk) begin
    if (s_axi_rready) s_axi_rvalid <= 1'b0;
    if (word_tvalid && word_tready) begin
      half_q <= !half_q;
      if (half_q) s_axi_rdata[DataW-1:DATA_W] <= word_tdata[DATA_W-1:0];
      else s_axi_rdata[DATA_W-1:0] <= word_tdata[DATA_W-1:0];
      s_axi_rlast <= word_tdata[DATA_W];
      s_axi_rvalid <= half_q;
    end
    if (rst) begin
      s_axi_rvalid <= 1'b0;
      half_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{s_axi_araddr, unused_ready};

endmodule
