// Registers of a memory of images (docs/integrating/board_images.md), before those of framelane_top: four words, and a window of 8 KiB
// that shows one page of the memory. All other accesses go on. For a master with one access at a time, whose address stands until the
// answer. Model: sim/boards/image_memory.py.
module sdram_window
  import axi_pkg::*;
  import sdram_pkg::*;
#(
    parameter int unsigned BankW = 1,

    localparam int unsigned WordW = BankW + ROW_W + COLUMN_W,
    localparam int unsigned MostW = WordW + 2 - IMAGE_W  // of an image's index
) (
    input logic clk,
    input logic rst,

    // The master, and the other registers
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,
    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i,

    output logic [MostW:0] images_o,  // that are sent, one after the other; 0: the picture
    output logic           begin_o,   // pulse: that was written

    // sdram_port
    input  logic              ready_for_use_i,
    output logic [       1:0] delay_o,
    output logic [ WordW-1:0] word_address_o,
    output logic              word_write_o,
    output logic [DATA_W-1:0] word_data_o,
    output logic              word_valid_o,
    input  logic              word_ready_i,
    input  logic              word_read_i,
    input  logic [DATA_W-1:0] dq_i
);

  localparam int unsigned PAGE_W = WordW - WINDOW_W;

  typedef enum logic [1:0] {
    IDLE,
    ASK,   // the memory
    WAIT,  // for what it reads
    ANSWER
  } state_e;

  state_e state_q;
  logic [PAGE_W-1:0] page_q;
  logic [DATA_W-1:0] data_q, value;
  logic write_q, write, read, window;
  logic [15:0] address;
  register_e which;

  assign write = s_axil_i.awvalid && s_axil_i.wvalid && s_axil_i.awaddr >= FIRST;
  assign read = s_axil_i.arvalid && s_axil_i.araddr >= FIRST;
  assign address = (state_q == IDLE ? write : write_q) ? s_axil_i.awaddr : s_axil_i.araddr;
  assign window = address >= WINDOW;
  assign which = register_e'(address[3:2]);

  always_comb begin
    unique case (which)
      IMAGES: value = DATA_W'(images_o);
      PAGE: value = DATA_W'(page_q);
      DELAY: value = DATA_W'(delay_o);
      default: value = {ready_for_use_i, 23'd0, 8'(1 << MostW)};
    endcase
  end

  always_ff @(posedge clk) begin
    begin_o <= 1'b0;
    unique case (state_q)
      IDLE: begin
        write_q <= write;
        if (write || read) state_q <= window ? ASK : ANSWER;
        if (!window) data_q <= value;
        if (write && !window) begin
          if (which == IMAGES) begin
            images_o <= s_axil_i.wdata[MostW:0];
            begin_o  <= 1'b1;
          end
          if (which == PAGE) page_q <= s_axil_i.wdata[PAGE_W-1:0];
          if (which == DELAY) delay_o <= s_axil_i.wdata[1:0];
        end
      end
      ASK: if (word_ready_i) state_q <= write_q ? ANSWER : WAIT;
      WAIT: begin
        data_q <= dq_i;
        if (word_read_i) state_q <= ANSWER;
      end
      default: begin
        if (write_q ? s_axil_i.bready : s_axil_i.rready) state_q <= IDLE;
      end
    endcase
    if (rst) begin
      state_q <= IDLE;
      images_o <= '0;
      page_q <= '0;
      delay_o <= '0;
      begin_o <= 1'b0;
    end
  end

  assign word_address_o = {page_q, address[WINDOW_W+1:2]};
  assign word_write_o = write_q;
  assign word_data_o = s_axil_i.wdata;
  assign word_valid_o = state_q == ASK;

  always_comb begin
    m_axil_o = s_axil_i;
    s_axil_o = m_axil_i;
    if (s_axil_i.awaddr >= FIRST) begin
      m_axil_o.awvalid = 1'b0;
      m_axil_o.wvalid  = 1'b0;
      s_axil_o.awready = state_q == IDLE && write;
      s_axil_o.wready  = state_q == IDLE && write;
    end
    if (s_axil_i.araddr >= FIRST) begin
      m_axil_o.arvalid = 1'b0;
      s_axil_o.arready = state_q == IDLE && read;
    end
    if (state_q == ANSWER) begin
      s_axil_o.rdata  = data_q;
      s_axil_o.bresp  = '0;
      s_axil_o.rresp  = '0;
      s_axil_o.bvalid = write_q;
      s_axil_o.rvalid = !write_q;
    end
  end

endmodule
